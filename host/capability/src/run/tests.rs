//! What a run tells of itself.

use super::*;

fn run(budget: Duration) -> Run {
    Run::new("plugin", Grants::default(), Instant::now() + budget)
}

/// P5: a run that computes waits in nothing, one in a call says in which phase.
#[tokio::test(start_paused = true)]
async fn tells_waiting_from_computing() {
    let run = run(Duration::from_secs(10));
    assert_eq!(run.waiting(), None);
    assert_eq!(run.timeout_message(), None);
    let call = run.begin("http", "HEAD http://db:8080/".to_owned());
    call.begin_hop("db:8080".to_owned());
    call.enter(Phase::Dns);
    tokio::time::advance(Duration::from_millis(3)).await;
    call.enter(Phase::Connect);
    tokio::time::advance(Duration::from_micros(200)).await;
    call.enter(Phase::FirstByte);
    tokio::time::advance(Duration::from_secs(10)).await;
    let waiting = run.waiting().unwrap();
    assert_eq!(waiting.phase, Phase::FirstByte);
    assert_eq!(waiting.since.elapsed(), Duration::from_secs(10));
    assert_eq!(
        waiting.to_string(),
        "timeout after 10 s waiting for the first byte from db:8080 (dns 3 ms, connect 0.2 ms)"
    );
    call.finish(CallResult::Ok);
    assert_eq!(run.waiting(), None);
    assert_eq!(run.timeout_message(), None);
    let trace = run.take_trace();
    assert_eq!(trace.calls.len(), 1);
    assert_eq!(trace.calls[0].timings.dns, Some(Duration::from_millis(3)));
    assert_eq!(trace.calls[0].timings.first_byte, Some(Duration::from_secs(10)));
}

/// P5: a call that was cut off is still known, and is in the trace.
#[tokio::test(start_paused = true)]
async fn a_cut_call_is_remembered() {
    let run = run(Duration::from_secs(1));
    {
        let call = run.begin("http", "HEAD http://db:8080/".to_owned());
        call.begin_hop("db:8080".to_owned());
        call.enter(Phase::Connect);
    }
    tokio::time::advance(Duration::from_secs(1)).await;
    let said = "timeout after 1 s connecting to db:8080";
    assert_eq!(run.timeout_message().as_deref(), Some(said));
    let trace = run.take_trace();
    assert_eq!(trace.calls[0].result, CallResult::TimedOut(said.to_owned()));
    assert_eq!(trace.calls[0].took, Duration::from_secs(1));
}

/// P4: cut off before the deadline is no timeout.
#[tokio::test(start_paused = true)]
async fn a_call_that_was_left_is_no_timeout() {
    let run = run(Duration::from_secs(1));
    let _left = run.begin("http", "HEAD http://db:8080/".to_owned());
    let trace = run.take_trace();
    assert!(matches!(trace.calls[0].result, CallResult::Failed(_)));
}

/// P5: of calls that are under way at once each has its own phase and end.
#[tokio::test(start_paused = true)]
async fn calls_can_overlap() {
    let run = run(Duration::from_secs(1));
    let (first, second) = (run.begin("http", "a".to_owned()), run.begin("tcp", "b".to_owned()));
    first.begin_hop("a:1".to_owned());
    first.enter(Phase::Connect);
    second.begin_hop("b:2".to_owned());
    second.enter(Phase::Dns);
    assert_eq!((first.phase(), second.phase()), (Phase::Connect, Phase::Dns));
    assert_eq!(first.timeout_message(), "timeout after 1 s connecting to a:1");
    first.finish(CallResult::Ok);
    assert_eq!(run.waiting().unwrap().what, "b");
    drop(second);
    assert_eq!(run.waiting().unwrap().what, "b");
    let third = run.begin("tcp", "c".to_owned());
    assert_eq!(run.waiting().unwrap().what, "c");
    third.finish(CallResult::Ok);
    assert_eq!(run.waiting(), None);
    let calls = run.take_trace().calls;
    assert_eq!(calls.iter().map(|call| call.what.as_str()).collect::<String>(), "abc");
    assert!(matches!(calls[1].result, CallResult::Failed(_)));
}

/// G4: the trace is bounded.
#[tokio::test]
async fn the_trace_is_bounded() {
    let run = run(Duration::from_secs(1));
    for _ in 0..300 {
        run.begin("http", String::new()).finish(CallResult::Ok);
    }
    let trace = run.take_trace();
    assert_eq!((trace.calls.len(), trace.calls_dropped), (256, 44));
}
