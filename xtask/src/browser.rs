//! The page of the server, in a real browser: Debian's Chromium, driven by Playwright from Node's own test runner.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program;

const FOLDER: &str = "crates/evmachine-server/browser";
/// The first that takes the modules of the page as they are.
const NODE: (u32, u32) = (20, 19);

/// What came of it.
pub(crate) enum Outcome {
    Passed,
    /// What is missing, and how to get it.
    Skipped(String),
}

/// Installs what is missing where it can, and runs the tests with the program that was built.
pub(crate) fn test(root: &Path) -> Result<Outcome, String> {
    let folder = root.join(FOLDER);
    let found = node().and_then(|()| chromium()).and_then(|chromium| packages(&folder).map(|()| chromium));
    let chromium = match found {
        Ok(chromium) => chromium,
        Err(missing) => return Ok(Outcome::Skipped(missing)),
    };
    eprintln!("== browser: node --test");
    let status = Command::new("node")
        .args(["--test", "--test-reporter=spec", "--test-concurrency=1", "tests/"])
        .current_dir(&folder)
        .env("EVMACHINE", program::path()?)
        .env("CHROMIUM", chromium)
        .status()
        .map_err(|error| format!("node: {error}"))?;
    if status.success() { Ok(Outcome::Passed) } else { Err(status.to_string()) }
}

fn node() -> Result<(), String> {
    let wanted = format!("Node {}.{} or later, with npm (nodejs.org)", NODE.0, NODE.1);
    let found = Command::new("node").arg("--version").output();
    let version = found.map_err(|error| format!("node: {error}; install {wanted}"))?.stdout;
    let version = String::from_utf8_lossy(&version).trim().to_owned();
    let mut numbers = version.trim_start_matches('v').split('.').map_while(|number| number.parse().ok());
    let (major, minor): (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if (major, minor) >= NODE { Ok(()) } else { Err(format!("node is {version}; install {wanted}")) }
}

/// The browser: that of the variable CHROMIUM, or of the path, or of the distribution.
fn chromium() -> Result<PathBuf, String> {
    if let Some(named) = env::var_os("CHROMIUM") {
        return Ok(named.into());
    }
    if let Some(found) = on_path("chromium") {
        return Ok(found);
    }
    eprintln!("== browser: apt-get install chromium");
    let installed = Command::new("apt-get")
        .args(["install", "-y", "--no-install-recommends", "chromium"])
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdout(Stdio::null())
        .status();
    on_path("chromium").ok_or_else(|| {
        let why = installed.map_or_else(|error| error.to_string(), |status| status.to_string());
        format!(
            "there is no chromium, and apt-get could not install it ({why}); install Debian's package chromium, or name a \
             Chromium with the variable CHROMIUM"
        )
    })
}

fn on_path(program: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

fn packages(folder: &Path) -> Result<(), String> {
    eprintln!("== browser: npm ci");
    let status = Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(folder).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("npm ci in {FOLDER}: {status}; it needs the registry of npm")),
        Err(error) => Err(format!("npm: {error}; install it with Node")),
    }
}
