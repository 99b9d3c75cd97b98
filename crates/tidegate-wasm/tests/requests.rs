//! What the module answers. That its figures are the command's is held in `tidegate-cli`, where
//! both can be run.
use tidegate_wasm::{LONGEST, answer, length, reply, room};

#[test]
fn requests_that_cannot_be_are_refused_in_words() {
    for (request, words) in [
        ("", "the request: EOF"),
        ("nonsense", "the request: expected"),
        (r#""queue""#, "unknown variant `queue`"),
        (r#"{"run": {"sets": []}}"#, "missing field `queue`"),
        (r#"{"run": {"sets": [], "queue": "sfb", "seeds": 3}}"#, "unknown field `seeds`"),
        (r#"{"run": {"sets": [], "queue": "sbf"}}"#, "did you mean `sfb`?"),
        (r#"{"run": {"sets": [], "queue": "sfb,bins=0"}}"#, "bins = 0: must lie in 1 to 65536"),
        (r#"{"run": {"sets": ["users"], "queue": "sfb"}}"#, "must be written path=value"),
        (r#"{"run": {"sets": ["network.rate=0"], "queue": "sfb"}}"#, "--set network.rate=0"),
        (r#"{"run": {"sets": ["group.users.count=1000001"], "queue": "sfb"}}"#, "1000000"),
    ] {
        let reply = reply(request.as_bytes());
        assert!(reply.starts_with(r#"{"problem":""#) && reply.contains(words), "{reply}");
    }
    assert!(reply(&[0xff, 0xfe]).starts_with(r#"{"problem":""#));
}

#[test]
fn it_lists_the_queues_of_the_catalog() {
    let reply = reply(br#""queues""#);
    for row in tidegate::catalog::QUEUES {
        assert!(reply.contains(&format!(r#"{{"name":"{}","title":""#, row.name)), "{}", row.name);
    }
}

/// What the page does, without a page.
#[test]
fn an_answer_stays_until_the_next_one() {
    assert!(room(LONGEST + 1).is_null(), "a bound on what a page may ask");
    let at = room(LONGEST);
    assert!(!at.is_null());
    assert!(!answer().is_null());
    assert_eq!(length(), reply(&[0; LONGEST]).len(), "zeros are no request");
}
