//! The Python package: built as a wheel, installed into a fresh virtual environment, and tested there.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program;

/// Bytes that a wheel may take.
const WHEEL_LIMIT: u64 = 10_000_000;
const ENVIRONMENT: &str = "target/python-environment";
const WHEELS: &str = "target/python-wheels";

/// Everything, in order; what could not be tested.
pub(crate) fn test(root: &Path) -> Result<Vec<String>, String> {
    let environment = environment(root)?;
    let wheel = wheel(root, &environment)?;
    environment.call("pip", &["install", "--quiet", "--force-reinstall", "--no-deps", &wheel], root)?;
    // From folders that have no package in them, so that the installed one is what is imported.
    let tests = root.join("python/tests");
    let installed = "import evmachine, sys; sys.exit(not evmachine.__file__.startswith(sys.prefix))";
    environment.call("python", &["-c", installed], &tests)?;
    let package = root.join("python");
    environment.call("ruff", &["format", "--check", "--quiet", "."], &package)?;
    environment.call("ruff", &["check", "--quiet", "."], &package)?;
    environment.call("mypy", &[], &package)?;
    environment.call("python", &["-m", "mypy.stubtest", "evmachine._native"], &tests)?;
    environment.call("pytest", &["--quiet", "--doctest-modules", ".", "--pyargs", "evmachine"], &tests)?;
    examples(root, &environment)?;
    Ok(ENGINES.iter().filter(|engine| !environment.has(engine)).map(|engine| missing(engine)).collect())
}

/// Packages whose tests are left out if they cannot be installed.
const ENGINES: [&str; 2] = ["ray", "distributed"];

fn missing(engine: &str) -> String {
    format!("nothing was tested on {engine}: pip has it for no such Python or platform")
}

/// The programs of a virtual environment.
struct Environment(PathBuf);

impl Environment {
    /// Whether a package can be imported.
    fn has(&self, package: &str) -> bool {
        let found = Command::new(self.0.join("python")).args(["-c", &format!("import {package}")]).status();
        found.is_ok_and(|status| status.success())
    }

    fn call(&self, program: &str, arguments: &[&str], folder: &Path) -> Result<(), String> {
        eprintln!("== python: {program} {}", arguments.join(" "));
        let path = self.0.join(program);
        let status = Command::new(&path)
            .args(arguments)
            .current_dir(folder)
            .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
            .env("MPLBACKEND", "Agg")
            .env("EVMACHINE", program::path()?)
            .status()
            .map_err(|error| format!("{}: {error}", path.display()))?;
        if status.success() { Ok(()) } else { Err(format!("{program}: {status}")) }
    }
}

fn environment(root: &Path) -> Result<Environment, String> {
    let python = env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let hint = "the Python package is tested with Python 3.11 or later; install it with its venv module \
                (python3 and python3-venv), or name one with the variable PYTHON";
    let version = "import sys; sys.exit(sys.version_info < (3, 11))";
    let found = Command::new(&python).args(["-c", version]).status();
    match found {
        Ok(status) if status.success() => {}
        Ok(_) => return Err(format!("{python} is too old; {hint}")),
        Err(error) => return Err(format!("{python}: {error}; {hint}")),
    }
    let folder = root.join(ENVIRONMENT);
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    eprintln!("== python: a fresh environment in {ENVIRONMENT}");
    let made = Command::new(&python).args(["-m", "venv"]).arg(&folder).status();
    if !made.is_ok_and(|status| status.success()) {
        return Err(format!("{python} -m venv failed; {hint}"));
    }
    let programs = if cfg!(windows) { "Scripts" } else { "bin" };
    let environment = Environment(folder.join(programs));
    environment.call("pip", &["install", "--quiet", "-r", "python/requirements-test.txt"], root)?;
    Ok(environment)
}

/// Builds the wheel and checks its size.
fn wheel(root: &Path, environment: &Environment) -> Result<String, String> {
    let folder = root.join(WHEELS);
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let arguments = ["build", "--release", "--locked", "--quiet", "--out", &folder.to_string_lossy()];
    environment.call("maturin", &arguments, &root.join("python"))?;
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let file =
        fs::read_dir(&folder).map_err(failed)?.next().ok_or("maturin built no wheel")?.map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    eprintln!("== python: {} takes {:.1} MB", file.file_name().display(), bytes as f64 / 1e6);
    if bytes > WHEEL_LIMIT {
        return Err(format!("the wheel takes {bytes} bytes, more than {WHEEL_LIMIT}"));
    }
    Ok(file.path().to_string_lossy().into_owned())
}

fn examples(root: &Path, environment: &Environment) -> Result<(), String> {
    let folder = root.join("python/examples");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut scripts: Vec<PathBuf> = fs::read_dir(&folder)
        .map_err(failed)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "py"))
        .collect();
    scripts.sort();
    if scripts.is_empty() {
        return Err(format!("{} has no examples", folder.display()));
    }
    for script in scripts {
        // What they write goes where it is in nobody's way.
        environment.call("python", &[&script.to_string_lossy()], &environment.0)?;
    }
    Ok(())
}
