//! The program `evmachine` as the tests have built it, for tests that are not Rust's.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// Beside this one, whatever the folder of the build is.
pub(crate) fn path() -> Result<PathBuf, String> {
    let own = env::current_exe().map_err(|error| error.to_string())?;
    let path = own.with_file_name(format!("evmachine{}", env::consts::EXE_SUFFIX));
    if path.is_file() { Ok(path) } else { Err(format!("{} was not built", path.display())) }
}

/// Builds it; the step "tests" does so too.
pub(crate) fn build() -> Result<(), String> {
    eprintln!("== cargo build -p evmachine-cli");
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let status = Command::new(cargo).args(["build", "-p", "evmachine-cli", "--locked"]).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(status.to_string()),
        Err(error) => Err(error.to_string()),
    }
}
