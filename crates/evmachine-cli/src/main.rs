//! The `evmachine` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    evmachine_cli::main()
}
