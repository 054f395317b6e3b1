"""Asks a running server by a client that others wrote: `pip install tritonclient[http]`, then

    evmachine serve --demo letters --listen 127.0.0.1:8080 &
    python benches/open_inference.py 127.0.0.1:8080
"""

import sys

import numpy as np
import tritonclient.http as protocol


def main(address: str) -> None:
    client = protocol.InferenceServerClient(address)
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("evmachine")
    metadata = client.get_model_metadata("evmachine")
    dimensions = metadata["inputs"][0]["shape"][1]
    rows = np.random.default_rng(0).normal(5, 3, (7, dimensions))
    answers = []
    for datatype, kind in [("FP32", np.float32), ("FP64", np.float64), ("FP16", np.float16)]:
        for binary in [True, False] if datatype != "FP16" else [True]:
            features = protocol.InferInput("features", list(rows.shape), datatype)
            features.set_data_from_numpy(rows.astype(kind), binary_data=binary)
            wanted = [protocol.InferRequestedOutput(output["name"], binary_data=binary) for output in metadata["outputs"]]
            found = client.infer("evmachine", [features], outputs=wanted, parameters={"keep": "none"})
            assert found.as_numpy("known").dtype == bool and found.as_numpy("probability").dtype == np.float32
            answers.append([bytes(str(label), "utf8") if isinstance(label, str) else label for label in found.as_numpy("best")])
    plain = client.infer("evmachine", [features], parameters={"keep": "none"})
    assert plain.as_numpy("label").shape == (7,)
    assert all(answer == answers[0] for answer in answers[:4]), answers
    try:
        client.infer("other", [features])
    except protocol.InferenceServerException as error:
        assert "no model" in str(error), error
    else:
        raise AssertionError("another model was answered for")
    print(f"{len(answers)} ways to ask, {len(rows)} rows each: {[label.decode() for label in answers[0]]}")


if __name__ == "__main__":
    main(sys.argv[1])
