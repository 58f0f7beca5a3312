//! The accuracy of latencies at a fixed rate: `latency_truth [-r RATE] [-c N] [-d S]`.
//!
//! The server works for 1 ms, 10 ms (p99) or 50 ms (p99.9) before it answers, and records when it had read a
//! request and when it wrote the answer. These times are the reference; the generator's figures also include
//! the path through the kernel and wake-ups, so client and server need a processor each: `taskset -c 0,1
//! latency_truth -r 2000`.

mod truth;

use hayami_load::{Control, run};
use truth::{Behaviour, Server, number, plan, quantile};

/// Of a thousand requests 15 take 10 ms and 5 take 50 ms, spread over all of them; the others take 1 ms.
fn work(request: u64) -> u64 {
    match request * 617 % 1000 {
        ..980 => 1_000_000,
        980..995 => 10_000_000,
        _ => 50_000_000,
    }
}

fn main() {
    let rate = number("-r", 2000.0);
    let requests = (rate * number("-d", 10.0)) as u64;
    let server = Server::start(Behaviour { work, closes: false }).expect("a server");
    let mut plan = plan(server.address, number("-c", 64.0) as usize, requests);
    plan.rate = Some(rate);
    let outcome = run(&plan, 0, &Control::new(None)).expect("a run");
    let tally = &outcome.tally;
    let seen = server.stop().expect("what it saw");
    let mut truth: Vec<u64> = seen.iter().map(|seen| seen.answered - seen.asked).collect();

    let kept = tally.responses as f64 / outcome.elapsed.as_secs_f64();
    println!("{kept:.0} requests a second of {rate:.0}; {} answers, {:?}", tally.responses, tally.errors);
    println!(
        "{:>6} {:>12} {:>12} {:>8} {:>12} {:>8}",
        "", "truth", "since due", "error", "since sent", "error"
    );
    let since_sent = tally.uncorrected.as_ref().expect("the open model has it");
    for share in [0.5, 0.99, 0.999] {
        let truth = quantile(&mut truth, share);
        let error =
            |measured: std::time::Duration| 100.0 * (measured.as_secs_f64() / truth.as_secs_f64() - 1.0);
        let (due, sent) = (tally.latency.quantile(share), since_sent.quantile(share));
        println!(
            "{:>6} {truth:>12.3?} {due:>12.3?} {:>6.1} % {sent:>12.3?} {:>6.1} %",
            format!("p{}", share * 100.0),
            error(due),
            error(sent)
        );
    }
}
