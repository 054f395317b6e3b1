//! Faults with real processes: updates at once, and processes that are killed in the middle, on a disk that is full at times.
//!
//! Each runs quickly here, and at length by
//! `cargo test --release -p evmachine-cli --test faults -- --ignored --nocapture --test-threads 1`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tempfile::TempDir;

/// A folder to work in, with a file system of its own where this process may mount one.
struct Disk {
    folder: TempDir,
    mounted: bool,
}

impl Disk {
    fn new(megabytes: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "tmpfs"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        Self { folder, mounted }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evmachine"));
        command.args(arguments).current_dir(self.folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The command, if so many bytes of a file can be written and no more: as on a full disk, writing fails in the middle. Takes no right
    /// to mount a disk.
    fn command_within(&self, arguments: &[&str], bytes: usize) -> Command {
        let mut command = Command::new("sh");
        // Blocks of 512 bytes. The signal would end the process before it could say what it lacks.
        let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", bytes / 512);
        command.args(["-c", &script, env!("CARGO_BIN_EXE_evmachine")]).args(arguments);
        command.current_dir(self.folder.path()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    fn ok(&self, arguments: &[&str]) {
        assert!(self.command(arguments).status().unwrap().success(), "{arguments:?}");
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn has_partial(&self) -> bool {
        self.names().iter().any(|name| name.ends_with(".partial"))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.mounted {
            let _ = Command::new("umount").arg("-l").arg(self.folder.path()).status();
        }
    }
}

/// Rows of classes that lie apart, as CSV with the class in the last column.
fn rows(classes: impl Iterator<Item = usize>, each: usize, columns: usize, random: &mut StdRng) -> String {
    let mut text = (0..columns).fold(String::new(), |text, column| text + &format!("f{column},")) + "class\n";
    for class in classes {
        for _ in 0..each {
            for column in 0..columns {
                let centre = ((class * 7 + column * 3) % 11) as f64;
                let _ = write!(text, "{:.4},", centre + random.random::<f64>());
            }
            let _ = writeln!(text, "class {class}");
        }
    }
    text
}

/// Two processes at a time update one model, each so often, every time with a class of its own.
fn updates_at_once(times: usize) {
    let disk = Disk::new(64);
    let mut random = StdRng::seed_from_u64(1);
    let write = |name: &str, text: String| fs::write(disk.path(name), text).unwrap();
    write("first.csv", rows(0..3, 10, 4, &mut random));
    let label = ["--label", "class"];
    disk.ok(&[&["train", "first.csv", "-o", "m"], &label[..]].concat());
    for class in 0..2 * times {
        write(&format!("{class}.csv"), rows(class + 3..class + 4, 4, 4, &mut random));
    }
    let began = Instant::now();
    let (mut learned, mut refused) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        let updater = |first: usize| {
            let (disk, label) = (&disk, &label);
            move || {
                let update = |class: usize| {
                    let data = format!("{class}.csv");
                    let command = [&["update", "m", &data, "-o", "m"], &label[..]].concat();
                    (class + 3, disk.command(&command).status().unwrap().code())
                };
                (first * times..(first + 1) * times).map(update).collect::<Vec<_>>()
            }
        };
        let updaters = [0, 1].map(|first| scope.spawn(updater(first)));
        for (class, code) in updaters.into_iter().flat_map(|updater| updater.join().unwrap()) {
            match code {
                Some(0) => learned.push(format!("class {class}")),
                Some(1) => refused += 1,
                other => panic!("class {class}: {other:?}"),
            }
        }
    });
    let evm = evmachine::Evm::load(disk.path("m")).unwrap();
    assert_eq!(evm.classes().len(), 3 + learned.len());
    assert!(learned.iter().all(|name| evm.class_index(name).is_some()), "an update that succeeded is lost");
    assert!(!disk.has_partial());
    eprintln!(
        "{} updates by two processes at once: {} in the model, {refused} refused, {:.1?}",
        2 * times,
        learned.len(),
        began.elapsed()
    );
}

/// A command, the file that it writes, and what that file holds before and after.
struct Job {
    arguments: Vec<&'static str>,
    target: &'static str,
    before: Vec<u8>,
    after: Vec<u8>,
    /// How long it takes.
    time: Duration,
}

impl Job {
    fn new(disk: &Disk, arguments: &[&'static str], target: &'static str, before: &Path) -> Self {
        let before = fs::read(before).unwrap();
        fs::write(disk.path(target), &before).unwrap();
        let began = Instant::now();
        disk.ok(arguments);
        let time = began.elapsed();
        let after = fs::read(disk.path(target)).unwrap();
        assert_ne!(before, after, "{arguments:?} changes something");
        Self { arguments: arguments.to_vec(), target, before, after, time }
    }
}

/// What became of the runs.
#[derive(Debug, Default)]
struct Tally {
    /// Killed while they ran.
    killed: usize,
    /// Of these, with a temporary file left behind.
    with_partial: usize,
    /// Of these, with the new file in place already.
    with_new: usize,
    /// Of these, on a disk without room for the new file.
    on_full_disk: usize,
    /// Ended by themselves before they were killed: no kill that counts.
    too_late: usize,
    /// Of these, refused for want of room.
    refused: usize,
}

/// A model that is trained, one that is updated, and predictions.
fn jobs(disk: &Disk, random: &mut StdRng) -> [Job; 3] {
    fs::write(disk.path("data.csv"), rows(0..4, 400, 32, random)).unwrap();
    fs::write(disk.path("more.csv"), rows(4..6, 100, 32, random)).unwrap();
    let train = ["--label", "class", "--cover-threshold", "1", "--tail-size", "300"];
    disk.ok(&[&["train", "data.csv", "-o", "base", "-k", "2"], &train[..]].concat());
    disk.ok(&["predict", "base", "more.csv", "--label", "class", "-o", "old.csv"]);
    let update = ["update", "model", "more.csv", "--label", "class", "-o", "model"];
    let predict = ["predict", "base", "data.csv", "--label", "class", "--proba", "-o", "out.csv"];
    [
        Job::new(
            disk,
            &[&["train", "data.csv", "-o", "model"], &train[..]].concat(),
            "model",
            &disk.path("base"),
        ),
        Job::new(disk, &update, "model", &disk.path("base")),
        Job::new(disk, &predict, "out.csv", &disk.path("old.csv")),
    ]
}

/// Kills commands so often, and looks each time at what is left, and at what the next command makes of it.
fn kills(times: usize) {
    let disk = Disk::new(16);
    let mut random = StdRng::seed_from_u64(2);
    let jobs = jobs(&disk, &mut random);
    let names = disk.names();
    let mut tally = Tally::default();
    let mut by_job = [0; 3];
    let mut round = 0;
    while tally.killed < times {
        let which = round % jobs.len();
        let job = &jobs[which];
        round += 1;
        fs::write(disk.path(job.target), &job.before).unwrap();
        let (full, room) = (random.random_bool(0.3), job.after.len() / 2);
        let mut command = if full && !disk.mounted {
            disk.command_within(&job.arguments, room)
        } else {
            disk.command(&job.arguments)
        };
        if full && disk.mounted {
            fill(&disk, room);
        }
        let mut child = command.spawn().unwrap();
        // Half of the moments are any, half are while the file is written.
        let moment = random.random_range(0..=job.time.as_micros() as u64);
        if random.random_bool(0.5) {
            std::thread::sleep(Duration::from_micros(moment));
        } else {
            while !disk.has_partial() && child.try_wait().unwrap().is_none() {}
            std::thread::sleep(Duration::from_micros(random.random_range(0..3000)));
        }
        let _ = child.kill();
        let status = child.wait().unwrap();
        let found = fs::read(disk.path(job.target)).unwrap();
        let is_new = found == job.after;
        assert!(
            is_new || found == job.before,
            "{:?} left neither the old file nor the new one",
            job.arguments
        );
        if status.signal() == Some(9) {
            tally.killed += 1;
            by_job[which] += 1;
            tally.with_partial += usize::from(disk.has_partial());
            tally.with_new += usize::from(is_new);
            tally.on_full_disk += usize::from(full);
        } else {
            tally.too_late += 1;
            assert_eq!(status.code(), Some(i32::from(!is_new)), "{:?}", job.arguments);
            assert!(is_new || full, "{:?} was refused without need", job.arguments);
            tally.refused += usize::from(!is_new);
        }
        let _ = fs::remove_file(disk.path("filler"));
        fs::write(disk.path(job.target), &job.before).unwrap();
        disk.ok(&job.arguments);
        assert!(fs::read(disk.path(job.target)).unwrap() == job.after, "{:?}", job.arguments);
        assert_eq!(disk.names(), names, "what was left behind is gone after the next command");
    }
    eprintln!("train, update, predict killed {by_job:?} times in {round} runs: {tally:?}");
    assert!(tally.with_partial > 0, "some were killed while they wrote");
}

/// Fills the disk up to so many bytes.
fn fill(disk: &Disk, left: usize) {
    let block = vec![0u8; 4096];
    let mut file = fs::File::create(disk.path("filler")).unwrap();
    while std::io::Write::write_all(&mut file, &block).is_ok() {}
    let length = file.metadata().unwrap().len();
    file.set_len(length.saturating_sub(left as u64)).unwrap();
}

#[test]
fn of_a_few_updates_at_once_none_is_lost() {
    updates_at_once(5);
}

#[test]
fn without_room_a_command_is_refused_says_so_and_leaves_the_old_file() {
    let disk = Disk::new(16);
    for job in jobs(&disk, &mut StdRng::seed_from_u64(3)) {
        for room in [0, job.after.len() / 2, job.after.len() - 512] {
            fs::write(disk.path(job.target), &job.before).unwrap();
            let output = disk.command_within(&job.arguments, room).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{:?} with room for {room}: {said}", job.arguments);
            assert!(said.contains(job.target), "it names the file: {said}");
            assert!(fs::read(disk.path(job.target)).unwrap() == job.before, "{:?}", job.arguments);
            assert!(!disk.has_partial(), "{:?}", job.arguments);
        }
    }
}

#[test]
fn a_few_kills_leave_whole_files() {
    kills(9);
}

#[test]
#[ignore = "takes minutes"]
fn of_two_hundred_updates_at_once_none_is_lost() {
    updates_at_once(100);
}

#[test]
#[ignore = "takes minutes"]
fn two_hundred_kills_leave_whole_files() {
    kills(200);
}
