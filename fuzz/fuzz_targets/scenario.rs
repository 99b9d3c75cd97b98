//! Arbitrary bytes as a scenario, after a line `#set path=value` for each override: nothing panics,
//! every refusal
//! says something, and what is accepted is written back as the same scenario.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_lab::{QueueSpec, Scenario, Override, check};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let sets: Vec<Override> =
        text.lines().filter_map(|l| l.strip_prefix("#set ")?.parse().ok()).take(8).collect();
    if let Some(line) = text.lines().next()
        && let Ok(spec) = line.parse::<QueueSpec>()
    {
        assert_eq!(spec.to_string().parse::<QueueSpec>().as_ref(), Ok(&spec));
    }
    let scenario = match Scenario::parse(data, "fuzz.toml", &sets) {
        Ok(scenario) => scenario,
        Err(problems) => {
            assert!(
                !problems.list().is_empty() && problems.list().iter().all(|p| !p.why.is_empty())
            );
            assert!(problems.to_string().contains(": "));
            return;
        }
    };
    let written = scenario.resolved();
    match Scenario::parse(written.as_bytes(), "fuzz.toml", &[]) {
        Ok(again) => {
            assert_eq!(again.resolved(), written);
            // Queues are not compared, since writing spells their parameters out; that is in the
            // text.
            assert_eq!((&again.run, &again.groups), (&scenario.run, &scenario.groups));
        }
        Err(problems) => panic!("{problems}\n{written}"),
    }
    // A million flows are allowed, and take their time.
    if scenario.flows() <= 200 {
        let derived = check(&scenario, &scenario.compare)
            .expect("a scenario that was accepted can be checked");
        assert!(!derived.to_string().is_empty());
    }
});
