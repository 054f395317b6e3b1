use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use evmachine::Run;
use evmachine_openworld::{Answer, NewSample, Pool, State, StoreError, Target, Which};

use crate::{Random, assert_sound, folder, place, stream};

const FOLDER: &str = "EVMACHINE_TEST_POOL";

/// The process that is killed: adds, labels, undoes and updates, and says what has returned. Without a folder it does nothing.
#[test]
fn worker() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut pool = Pool::open(Path::new(&folder)).unwrap();
    let run = Run::new();
    let mut output = std::io::stdout();
    let mut say = |line: String| writeln!(output, "\nack {line}").and_then(|()| output.flush()).unwrap();
    let mut random = Random(u64::from(std::process::id()) + 1);
    let name = std::process::id();
    for round in 0.. {
        let row = (random.next() * 24.0) as usize;
        let id = format!("{name}-{round}");
        let details = [NewSample { id: Some(id.clone()), ..NewSample::default() }];
        let added = pool.add(&run, &stream().part(row..row + 1), &details, Which::All).unwrap().remove(0);
        let sample = added.sample().unwrap();
        say(format!("added {sample} {id}"));
        if round % 2 == 0 {
            pool.answer(&run, &Target::Samples(&[sample]), Answer::Label("c"), None).unwrap();
            say(format!("labelled {sample} {id}"));
        }
        if round % 7 == 6 {
            match pool.update(&run, None) {
                Ok(learned) => say(format!("version {} {}", learned.event, learned.version)),
                Err(StoreError::NothingToLearn) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Kills processes at random moments; after each, all that was acknowledged is there, and the pool is sound.
fn kill(times: usize) {
    let (place, pool) = place();
    drop(pool);
    let folder = folder(&place);
    let mut random = Random(77);
    let mut acknowledged: Vec<String> = Vec::new();
    for kill in 0..times {
        let mut worker = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::worker", "--nocapture"])
            .env(FOLDER, &folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(worker.stdout.take().unwrap());
        let reader = std::thread::spawn(move || -> Vec<String> {
            // The last line may be cut off in the middle: then it was not said.
            let lines = output.split(b'\n').map_while(Result::ok);
            lines.filter_map(|line| String::from_utf8(line).ok()).collect()
        });
        std::thread::sleep(Duration::from_millis(5 + (random.next() * 180.0) as u64));
        worker.kill().unwrap();
        worker.wait().unwrap();
        let lines = reader.join().unwrap();
        let said = lines.iter().take(lines.len().saturating_sub(1));
        acknowledged.extend(said.filter_map(|line| line.strip_prefix("ack ")).map(str::to_owned));
        if kill % 10 == 9 || kill + 1 == times {
            assert_all_there(&folder, &acknowledged);
        }
    }
    assert!(acknowledged.len() >= times, "{} acknowledged", acknowledged.len());
    eprintln!("{times} processes killed; {} acknowledged calls are all there", acknowledged.len());
}

fn assert_all_there(folder: &Path, acknowledged: &[String]) {
    assert_sound(folder);
    let pool = Pool::open(folder).unwrap();
    let versions = pool.versions().unwrap();
    for line in acknowledged {
        let words: Vec<&str> = line.split(' ').collect();
        let [what, number, name] = words[..] else { panic!("{line}") };
        if what == "version" {
            assert!(versions.iter().any(|version| version.hash == name), "{line}");
            continue;
        }
        let sample = pool.sample(number.parse().unwrap()).unwrap();
        assert_eq!(sample.id.as_deref(), Some(name), "{line}");
        if what == "labelled" {
            assert_eq!(sample.state, State::Labelled { label: "c".to_owned() }, "{line}");
        }
    }
}

#[test]
fn what_was_acknowledged_survives_kills() {
    kill(8);
}

/// `cargo test -p evmachine-openworld --test it killed -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn what_was_acknowledged_survives_two_hundred_kills() {
    kill(200);
}
