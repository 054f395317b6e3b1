use std::collections::BTreeMap;

use evmachine::Run;
use evmachine_openworld::{Answer, EventId, GroupId, Pool, SampleId, State, StoreError, Target};
use proptest::prelude::*;

use crate::{fill, place};

/// Something that a person does.
#[derive(Debug, Clone)]
enum Step {
    Answer {
        samples: Vec<usize>,
        answer: u8,
    },
    Group {
        except_first: bool,
        answer: u8,
    },
    /// Parts the first group by the distance of its middle member.
    Split,
    /// Puts the first two groups together.
    Merge,
    Skip,
    Update,
    Rollback,
    /// An event, counted from the last one back.
    Undo(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (prop::collection::vec(0usize..24, 1..6), 0u8..6)
            .prop_map(|(samples, answer)| Step::Answer { samples, answer }),
        2 => (any::<bool>(), 0u8..4).prop_map(|(except_first, answer)| Step::Group { except_first, answer }),
        1 => Just(Step::Split),
        1 => Just(Step::Merge),
        1 => Just(Step::Skip),
        1 => Just(Step::Update),
        1 => Just(Step::Rollback),
        4 => (0usize..6).prop_map(Step::Undo),
    ]
}

fn answer(number: u8) -> Answer<'static> {
    let propose = Answer::Propose("d");
    [Answer::Label("c"), propose, Answer::Ignore, Answer::Discard, Answer::Reopen, Answer::Label("d")]
        [number as usize]
}

/// Does it; the event that says so, unless it was refused.
fn take(pool: &mut Pool, samples: &[SampleId], step: &Step) -> Option<EventId> {
    let run = Run::new();
    let done = match step {
        Step::Answer { samples: chosen, answer: number } => {
            let chosen: Vec<SampleId> = chosen.iter().map(|&at| samples[at]).collect();
            pool.answer(&run, &Target::Samples(&chosen), answer(*number), None).map(|(event, _)| event)
        }
        Step::Group { except_first, answer: number } => {
            let group = pool.next_groups(&run, 1, false).unwrap().into_iter().next()?;
            let except: Vec<SampleId> =
                group.members.iter().take(usize::from(*except_first)).map(|member| member.sample).collect();
            let target = Target::Group { group: group.number, except: &except };
            pool.answer(&run, &target, answer(*number), None).map(|(event, _)| event)
        }
        Step::Split => {
            let group = pool.next_groups(&run, 1, false).unwrap().into_iter().next()?;
            let radius = group.members[group.members.len() / 2].distance;
            pool.split(&run, group.number, radius, None).map(|(event, _)| event)
        }
        Step::Merge => {
            let groups = pool.next_groups(&run, 2, false).unwrap();
            let groups: Vec<GroupId> = groups.iter().map(|group| group.number).collect();
            pool.merge(&run, &groups, None).map(|(event, _)| event)
        }
        Step::Skip => {
            let group = pool.next_groups(&run, 1, false).unwrap().into_iter().next()?;
            pool.skip(group.number, None)
        }
        Step::Update => pool.update(&run, None).map(|learned| learned.event),
        Step::Rollback => pool.rollback(None),
        Step::Undo(back) => {
            let events = pool.events().unwrap();
            let event = events.len().checked_sub(back + 1).map(|at| events[at].number)?;
            pool.undo(Some(event), None).map(|(_, undoing)| undoing)
        }
    };
    match done {
        Ok(event) => Some(event),
        Err(
            StoreError::AlreadyLearned { .. }
            | StoreError::NothingToLearn
            | StoreError::NoPrevious
            | StoreError::AlreadyLive { .. }
            | StoreError::NoSamples
            | StoreError::NoParting { .. }
            | StoreError::AlreadyUndone { .. }
            | StoreError::RearrangedSince { .. }
            | StoreError::NotTheLast { .. },
        ) => None,
        Err(error) => panic!("{step:?}: {error}"),
    }
}

type Everything = (BTreeMap<SampleId, (State, bool)>, String, Option<String>, u64);

/// What a person can see of the answers and versions.
fn everything(pool: &Pool) -> Everything {
    let mut states = BTreeMap::new();
    pool.for_each_sample::<StoreError>(|sample| {
        states.insert(sample.number, (sample.state, sample.proposed));
        Ok(())
    })
    .unwrap();
    let status = pool.status().unwrap();
    (states, status.live, status.previous, status.to_learn)
}

/// Which groups the samples are in that wait, how wide these are, and in which order they come.
fn arrangement(pool: &mut Pool) -> (BTreeMap<SampleId, GroupId>, Vec<(GroupId, f64)>) {
    let mut groups = BTreeMap::new();
    pool.for_each_sample::<StoreError>(|sample| {
        if sample.state == State::Waiting {
            groups.insert(sample.number, sample.group);
        }
        Ok(())
    })
    .unwrap();
    let queue = pool.next_groups(&Run::new(), usize::MAX, false).unwrap();
    (groups, queue.into_iter().map(|group| (group.number, group.radius)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn undoing_an_answer_or_an_arrangement_gives_the_groups_back(steps in prop::collection::vec(step(), 1..14)) {
        let (_place, mut pool) = place();
        let samples = fill(&mut pool);
        for step in &steps {
            let before = arrangement(&mut pool);
            let Some(event) = take(&mut pool, &samples, step) else { continue };
            if pool.undoes(event).unwrap().changes_live() {
                continue;
            }
            let after = arrangement(&mut pool);
            let (_, undoing) = pool.undo(Some(event), None).unwrap();
            prop_assert_eq!(&before, &arrangement(&mut pool), "undone: {:?}", step);
            pool.undo(Some(undoing), None).unwrap();
            prop_assert_eq!(&after, &arrangement(&mut pool), "done again: {:?}", step);
        }
        prop_assert!(pool.check().unwrap().is_empty());
    }

    #[test]
    fn undoing_any_event_gives_the_former_state(steps in prop::collection::vec(step(), 1..14)) {
        let (_place, mut pool) = place();
        let samples = fill(&mut pool);
        for step in &steps {
            let before = everything(&pool);
            let Some(event) = take(&mut pool, &samples, step) else {
                prop_assert_eq!(&before, &everything(&pool), "what is refused changes nothing: {:?}", step);
                continue;
            };
            let after = everything(&pool);
            // An answer that was learned at once cannot be undone; here nothing came after.
            let (undone, undoing) = pool.undo(Some(event), None).unwrap();
            prop_assert_eq!(undone, event);
            prop_assert_eq!(&before, &everything(&pool), "undone: {:?}", step);
            pool.undo(Some(undoing), None).unwrap();
            prop_assert_eq!(&after, &everything(&pool), "done again: {:?}", step);
        }
        let findings = pool.check().unwrap();
        prop_assert!(findings.iter().all(|finding| finding.harmless), "{:?}", findings);
    }
}

#[test]
fn undo_without_a_number_goes_back_step_by_step() {
    let (_place, mut pool) = place();
    let samples = fill(&mut pool);
    let run = Run::new();
    for label in ["c", "d"] {
        pool.answer(&run, &Target::Samples(&samples[..2]), Answer::Label(label), None).unwrap();
    }
    let state = |pool: &Pool| pool.sample(samples[0]).unwrap().state;
    assert_eq!(pool.undo(None, None).unwrap(), (2, 3));
    assert_eq!(state(&pool), State::Labelled { label: "c".to_owned() });
    assert_eq!(pool.undo(None, None).unwrap(), (1, 4));
    assert_eq!(state(&pool), State::Waiting);
    assert!(matches!(pool.undo(None, None), Err(StoreError::NothingToUndo)));
    assert!(matches!(pool.undo(Some(1), None), Err(StoreError::AlreadyUndone { event: 1 })));
    assert!(matches!(pool.undo(Some(9), None), Err(StoreError::NoEvent { event: 9 })));
    // An answer out of the middle: the later one stands.
    pool.undo(Some(3), None).unwrap();
    pool.undo(Some(4), None).unwrap();
    pool.undo(Some(1), None).unwrap();
    assert_eq!(state(&pool), State::Labelled { label: "d".to_owned() });
}
