"""An exported model behind MLServer, to be asked as the server of this project is:

    pip install mlserver onnxruntime
    cargo run --release -p evmachine-server --example load -- onnx letter target/exported.onnx
    (cd benches/mlserver_onnx && mlserver start .) &
    cargo run --release -p evmachine-server --example load -- http://127.0.0.1:8090/v2/models/exported/infer letter
"""

import onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec, StringCodec
from mlserver.types import InferenceRequest, InferenceResponse


class Exported(MLModel):
    async def load(self) -> bool:
        self._session = onnxruntime.InferenceSession(self.settings.parameters.uri)
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        rows = NumpyCodec.decode_input(payload.inputs[0]).astype("float32", copy=False)
        label, probability = self._session.run(["label", "probability"], {"features": rows})
        return InferenceResponse(
            model_name=self.name,
            outputs=[
                StringCodec.encode_output("label", list(label)),
                NumpyCodec.encode_output("probability", probability),
            ],
        )
