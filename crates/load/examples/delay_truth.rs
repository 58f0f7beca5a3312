//! The accuracy of emulated distances: `delay_truth [--rtt MS] [--jitter MS] [-c N] [-d S]`.
//!
//! The server records its own times, so this measures what a server sees (docs/bench.md, "Clients far away");
//! client and server need a processor each: `taskset -c 0,1 delay_truth --rtt 100 -c 1000`. Errors include
//! what the machine adds: wake-ups, and the path through the kernel. The client's own figures are exact to
//! half a percent at this length (they come from the histogram), the server's to the nanosecond.

mod truth;

use hayami_load::plan::{Distance, KeepAlive};
use hayami_load::{Control, run};
use std::time::Duration;
use truth::{Behaviour, Seen, Server, number, plan, quantile};

const SHARES: [f64; 4] = [0.01, 0.5, 0.99, 0.999];

fn main() {
    let seconds = |name, default| Duration::from_secs_f64(number(name, default) / 1e3);
    let (rtt, jitter) = (seconds("--rtt", 100.0), seconds("--jitter", 0.0));
    let connections = number("-c", 1000.0) as usize;
    let cycles = (number("-d", 5.0) / (2.0 * rtt.as_secs_f64())).ceil();
    let server = Server::start(Behaviour { work: |_| 0, closes: true }).expect("a server");
    let mut plan = plan(server.address, connections, (connections as f64 * cycles) as u64);
    plan.keep_alive = KeepAlive::Off;
    plan.distance = Some(Distance { rtt, jitter, loss: 0.0 });
    plan.ramp_up = 2 * rtt; // not all at the same moment, which no processor could serve in time
    let outcome = run(&plan, 0, &Control::new(None)).expect("a run");
    let tally = &outcome.tally;
    let mut seen = server.stop().expect("what it saw");

    let rate = tally.responses as f64 / outcome.elapsed.as_secs_f64();
    let most = connections as f64 / (2.0 * rtt.as_secs_f64());
    let share = outcome.generator_cpu.as_secs_f64() / outcome.elapsed.as_secs_f64();
    println!("{rate:.0} requests a second, c / (2 rtt) is {most:.0}; generator {:.0} % busy", share * 100.0);
    println!("{} connections seen, {} answers, {:?}", seen.len(), tally.responses, tally.errors);
    println!("{:<44} {:>9} {:>9} {:>9} {:>9}", "error in ms at", "p1", "p50", "p99", "p99.9");
    print("client: to connect", rtt, jitter, |share| tally.connect.quantile(share));
    print("client: from request to answer", rtt, jitter, |share| tally.latency.quantile(share));
    let mut lives: Vec<u64> = seen.iter().map(|seen| seen.ended - seen.answered).collect();
    print("server: from answer to the client's end", rtt, jitter, |share| quantile(&mut lives, share));
    if jitter.is_zero() {
        let mut pauses = pauses(&mut seen, connections);
        print("server: from that to the next request", rtt, jitter, |share| quantile(&mut pauses, share));
    }
}

/// From the end of a connection to the request of the next one of the same client: all clients do the same one after
/// the other, and so the order tells which belong together.
fn pauses(seen: &mut [Seen], connections: usize) -> Vec<u64> {
    seen.sort_by_key(|seen| seen.ended);
    let ended: Vec<u64> = seen.iter().map(|seen| seen.ended).collect();
    seen.sort_by_key(|seen| seen.asked);
    seen.iter().skip(connections).zip(ended).map(|(seen, ended)| seen.asked.saturating_sub(ended)).collect()
}

fn print(name: &str, rtt: Duration, jitter: Duration, mut measured: impl FnMut(f64) -> Duration) {
    let errors = SHARES.map(|share| (measured(share).as_secs_f64() - model(rtt, jitter, share)) * 1e3);
    println!("{name:<44} {:>9.3} {:>9.3} {:>9.3} {:>9.3}", errors[0], errors[1], errors[2], errors[3]);
}

/// Seconds: both ways vary by half the jitter, each evenly, and so their sum is distributed like a triangle.
fn model(rtt: Duration, jitter: Duration, share: f64) -> f64 {
    let off = if share < 0.5 { (2.0 * share).sqrt() - 1.0 } else { 1.0 - (2.0 - 2.0 * share).sqrt() };
    rtt.as_secs_f64() + jitter.as_secs_f64() * off
}
