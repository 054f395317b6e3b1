//! Development tasks. `cargo xtask test` is the one test command: everything that must hold before a change lands.

mod api;
mod browser;
mod house;
mod layers;
mod package;
mod program;
mod prose;
mod python;
mod roads;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

const USAGE: &str = "usage: cargo xtask test | layers | prose | house | api | python | browser | neon | wasm | deny | package | gpu | bench\n\n\
    test    formatting, clippy, all tests, doc tests, documentation, the page in a browser, the Python package, an NVIDIA\n\
            device where there is one; warnings are errors\n\
    layers  whether crates, and rooms of the library, import downwards alone, the picture of the house is theirs, the roads of\n\
            CONTRIBUTING.md are as long as they say, packages hold what they embed, and prose\n\
    prose   whether the documents keep to the words of docs/style.md, and their links lead to files and headings\n\
    house   draws that picture, docs/images/house.svg\n\
    api     the public methods of a model by heading, counted\n\
    python  the Python package alone: wheel, types, tests, examples, in a fresh virtual environment\n\
    browser the page of the server alone, in Chromium\n\
    neon    the library's unit tests on 64-bit ARM, under an emulator\n\
    wasm    whether the library builds for wasm32-unknown-unknown, without files\n\
    deny    licences, sources and duplicates of all dependencies, by cargo-deny, which it installs; takes minutes\n\
    package every crate as it would be published, in order, without building it: whether it holds what it embeds\n\
    gpu     the same answers on an NVIDIA device as on the processor; fails where there is none\n\
    bench   the benchmarks of the library";

fn main() -> ExitCode {
    let task = env::args().nth(1);
    let nothing = |()| Vec::new();
    let done = match task.as_deref() {
        Some("test") => test(),
        Some("python") => program::build().and_then(|()| timed("python", python::test)),
        Some("browser") => {
            program::build().and_then(|()| pages()).map(|skipped| skipped.into_iter().collect())
        }
        Some("layers") => layered().map(nothing),
        Some("prose") => root().and_then(|root| prose::check(&root)).map(nothing),
        Some("api") => counted().map(nothing),
        Some("wasm") => run(WASM).map(nothing),
        Some("deny") => run(DENY).map(nothing),
        Some("package") => {
            root().and_then(|root| package::check(&root)).and_then(|()| run(PACKAGE)).map(nothing)
        }
        Some("house") => root().and_then(|root| house::draw(&root)).map(nothing),
        Some("neon") => run(NEON).map(nothing),
        Some("gpu") => run(GPU).map(nothing),
        Some("bench") => run(BENCH).map(nothing),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(skipped) => {
            // Last, so that nobody takes it for a test that passed.
            for what in &skipped {
                eprintln!("== SKIPPED: {what}");
            }
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn run(steps: &[Step]) -> Result<(), String> {
    steps.iter().try_for_each(|step| step.run().map_err(|reason| format!("{}: {reason}", step.what)))
}

/// Everything; what could not be tested here.
fn test() -> Result<Vec<String>, String> {
    layered()?;
    run(TEST)?;
    let mut skipped: Vec<String> = pages()?.into_iter().collect();
    skipped.extend(timed("python", python::test)?);
    if Path::new(DRIVER).exists() {
        run(GPU)?;
    } else {
        skipped.push(format!("nothing was tested on an NVIDIA device: there is no {DRIVER}"));
    }
    Ok(skipped)
}

/// Crates and rooms in their order, the picture of them, packages, and the text that people read.
fn layered() -> Result<(), String> {
    let root = root()?;
    layers::check(&root)?;
    api::methods(&root)?;
    api::check_forms(&root)?;
    roads::check(&root)?;
    package::check(&root)?;
    prose::check(&root)?;
    house::check(&root)
}

/// Prints the public methods of a model by heading, and how many there are.
fn counted() -> Result<(), String> {
    let methods = api::methods(&root()?)?;
    for (heading, names) in &methods {
        println!("{heading} ({}): {}", names.len(), names.join(", "));
    }
    println!("{} in all", methods.values().map(Vec::len).sum::<usize>());
    Ok(())
}

/// Where the driver of NVIDIA devices says that it is there.
const DRIVER: &str = "/proc/driver/nvidia/version";

/// The page in a browser, or what is missing for that.
fn pages() -> Result<Option<String>, String> {
    match timed("browser", browser::test)? {
        browser::Outcome::Passed => Ok(None),
        browser::Outcome::Skipped(missing) => {
            Ok(Some(format!("the page was not tested in a browser: {missing}")))
        }
    }
}

fn timed<T>(what: &str, test: impl FnOnce(&Path) -> Result<T, String>) -> Result<T, String> {
    let clock = Instant::now();
    let done = test(&root()?).map_err(|reason| format!("{what}: {reason}"))?;
    eprintln!("== {what}: {:.0} s", clock.elapsed().as_secs_f64());
    Ok(done)
}

fn root() -> Result<PathBuf, String> {
    let manifest = env::var("CARGO_MANIFEST_DIR").map_err(|_| "run this as `cargo xtask`")?;
    Path::new(&manifest)
        .parent()
        .map(Path::to_path_buf)
        .ok_or_else(|| "xtask has no folder above it".to_owned())
}

struct Step {
    what: &'static str,
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

/// The cargo features that are off unless asked for.
const OPTIONAL: &str = "evmachine/ndarray";

const TEST: &[Step] = &[
    Step { what: "formatting", arguments: &["fmt", "--all", "--check"], environment: &[] },
    Step {
        what: "clippy",
        arguments: &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--features",
            OPTIONAL,
            "--locked",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ],
        environment: &[],
    },
    // What fewer features build: the first command of the README, and the library for who has models as bytes.
    Step {
        what: "the program without features",
        arguments: &[
            "clippy",
            "-p",
            "evmachine-cli",
            "--no-default-features",
            "--locked",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ],
        environment: &[],
    },
    Step {
        what: "the library without features",
        arguments: &[
            "clippy",
            "-p",
            "evmachine",
            "--no-default-features",
            "--locked",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ],
        environment: &[],
    },
    Step {
        what: "tests",
        arguments: &["test", "--workspace", "--all-targets", "--features", OPTIONAL, "--locked"],
        // The same cases every time; `cargo test` alone draws new ones.
        environment: &[("PROPTEST_RNG_SEED", "20180")],
    },
    Step {
        what: "doc tests",
        arguments: &["test", "--workspace", "--doc", "--features", OPTIONAL, "--locked"],
        environment: &[],
    },
    Step {
        what: "documentation",
        arguments: &["doc", "--workspace", "--no-deps", "--features", OPTIONAL, "--locked", "--quiet"],
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
    },
];

/// Needs `rustup target add aarch64-unknown-linux-gnu`, and of Debian `qemu-user` and `gcc-aarch64-linux-gnu`.
const NEON: &[Step] = &[Step {
    what: "tests on NEON",
    arguments: &[
        "test",
        "--target",
        "aarch64-unknown-linux-gnu",
        "-p",
        "evmachine-engine",
        "-p",
        "evmachine",
        "--lib",
        "--locked",
    ],
    environment: &[
        ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc"),
        ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", "qemu-aarch64 -L /usr/aarch64-linux-gnu"),
    ],
}];

/// Needs `rustup target add wasm32-unknown-unknown`.
const WASM: &[Step] = &[Step {
    what: "the library for wasm32",
    arguments: &[
        "check",
        "--target",
        "wasm32-unknown-unknown",
        "-p",
        "evmachine",
        "--no-default-features",
        "--locked",
    ],
    environment: &[],
}];

/// The versions are those that `deny.toml` was written for. Advisories are looked up only if asked for, because their database
/// comes from elsewhere.
const DENY: &[Step] = &[
    Step {
        what: "cargo-deny",
        arguments: &["install", "cargo-deny", "--version", "0.18.9", "--locked"],
        environment: &[],
    },
    Step {
        what: "licences, sources and duplicates",
        arguments: &["deny", "--workspace", "check", "licenses", "sources", "bans"],
        environment: &[],
    },
];

const PACKAGE: &[Step] = &[Step {
    what: "packages",
    arguments: &["publish", "--workspace", "--dry-run", "--no-verify", "--locked"],
    environment: &[],
}];

/// Needs a driver, cuBLAS and NVRTC. Without, `cargo test` counts these tests as ignored.
const GPU: &[Step] = &[Step {
    what: "tests on a device",
    arguments: &[
        "test",
        "--release",
        "-p",
        "evmachine-cuda",
        "--test",
        "device",
        "--locked",
        "--",
        "--include-ignored",
        "--nocapture",
        "--test-threads",
        "1",
    ],
    environment: &[],
}];

const BENCH: &[Step] =
    &[Step { what: "benchmarks", arguments: &["bench", "-p", "evmachine", "--locked"], environment: &[] }];

impl Step {
    fn run(&self) -> Result<(), String> {
        eprintln!("== {}: cargo {}", self.what, self.arguments.join(" "));
        let clock = Instant::now();
        let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let status = Command::new(cargo)
            .args(self.arguments)
            .envs(self.environment.iter().copied())
            .status()
            .map_err(|error| error.to_string())?;
        eprintln!("== {}: {:.0} s", self.what, clock.elapsed().as_secs_f64());
        if status.success() { Ok(()) } else { Err(status.to_string()) }
    }
}
