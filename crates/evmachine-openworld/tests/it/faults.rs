use std::fs;

use evmachine::Run;
use evmachine_openworld::{Answer, Pool, StoreError, Target, Which};

use crate::{assert_sound, fill, folder, place, stream};

#[test]
fn several_at_once_lose_nothing() {
    let (place, pool) = place();
    drop(pool);
    let folder = folder(&place);
    std::thread::scope(|scope| {
        for worker in 0..3 {
            let folder = &folder;
            scope.spawn(move || {
                let mut pool = Pool::open(folder).unwrap();
                let run = Run::new();
                for round in 0..6 {
                    let row = (worker * 6 + round) % 24;
                    let added =
                        pool.add(&run, &stream().part(row..row + 1), &[], Which::All).unwrap().remove(0);
                    let samples = [added.sample().unwrap()];
                    pool.answer(&run, &Target::Samples(&samples), Answer::Label("c"), None).unwrap();
                }
            });
        }
    });
    let status = Pool::open(&folder).unwrap().status().unwrap();
    assert_eq!((status.labelled["c"], status.events, status.waiting), (18, 18, 0));
    assert_sound(&folder);
}

#[test]
fn groups_made_by_another_process_are_seen() {
    let (place, mut one) = place();
    let run = Run::new();
    one.add(&run, &stream().part(0..4), &[], Which::All).unwrap();
    let mut other = Pool::open(&folder(&place)).unwrap();
    let added = other.add(&run, &stream().part(12..16), &[], Which::All).unwrap();
    let again = one.add(&run, &stream().part(16..18), &[], Which::All).unwrap();
    let group = |pool: &Pool, outcome: &evmachine_openworld::Outcome| {
        pool.sample(outcome.sample().unwrap()).unwrap().group
    };
    assert_eq!(group(&one, &again[0]), group(&one, &added[0]));
    assert_sound(&folder(&place));
}

#[test]
fn damage_is_found_and_named() {
    let (place, mut pool) = place();
    fill(&mut pool);
    let hash = pool.status().unwrap().live;
    drop(pool);
    let folder = folder(&place);
    let model = folder.join("models").join(format!("{hash}.safetensors"));
    let mut bytes = fs::read(&model).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&model, &bytes).unwrap();
    fs::write(folder.join("models/left.safetensors"), "x").unwrap();
    let database = rusqlite::Connection::open(folder.join("pool.sqlite")).unwrap();
    database.execute("UPDATE samples SET state = 'discarded' WHERE number = 3", []).unwrap();
    assert!(database.execute("INSERT INTO events (kind, time) VALUES ('labelled', 0)", []).is_ok());
    assert!(database.execute("UPDATE events SET kind = 'ignored'", []).is_err(), "events are not changed");
    drop(database);
    let mut pool = Pool::open(&folder).unwrap();
    let findings = pool.check().unwrap();
    let subjects: Vec<&str> = findings.iter().map(|finding| finding.subject.as_str()).collect();
    let version = format!("version {hash}");
    assert_eq!(subjects[..3], [version.as_str(), "models/left.safetensors", "sample 3"]);
    assert!(subjects[3].starts_with("group "), "{subjects:?}");
    assert_eq!(
        findings.iter().map(|finding| finding.harmless).collect::<Vec<_>>(),
        [false, true, false, false]
    );
    assert!(matches!(pool.live(), Err(StoreError::Changed { .. })));
}

#[test]
#[cfg(unix)]
fn a_folder_that_cannot_be_written_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let (place, mut pool) = place();
    let samples = fill(&mut pool);
    pool.answer(&Run::new(), &Target::Samples(&samples[..4]), Answer::Label("c"), None).unwrap();
    let models = folder(&place).join("models");
    fs::set_permissions(&models, PermissionsExt::from_mode(0o555)).unwrap();
    // Who may do everything is not stopped by modes.
    let may_write = fs::write(models.join("probe"), "x").is_ok();
    let done = pool.update(&Run::new(), None);
    fs::set_permissions(&models, PermissionsExt::from_mode(0o755)).unwrap();
    if !may_write {
        assert!(matches!(done, Err(StoreError::Io { .. })), "{done:?}");
        assert_eq!(pool.status().unwrap().to_learn, 4);
    }
    drop(pool);
    assert_sound(&folder(&place));
}
