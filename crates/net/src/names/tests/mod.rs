//! Local name servers that answer as each test needs, and tampered messages.

mod messages;
mod servers;

use simple_dns::rdata::{CNAME, RData};
use simple_dns::{CLASS, Name, Packet, Question, ResourceRecord};

fn record<'a>(name: &'a str, ttl: u32, rdata: RData<'a>) -> ResourceRecord<'a> {
    ResourceRecord::new(Name::new(name).expect("a name"), CLASS::IN, ttl, rdata)
}

fn alias<'a>(name: &'a str, ttl: u32, target: &'a str) -> ResourceRecord<'a> {
    record(name, ttl, RData::CNAME(CNAME(Name::new(target).expect("a name"))))
}

/// A response to a query, with records added by `fill`.
fn answer(query: &[u8], fill: impl Fn(&Question<'_>, &mut Packet<'_>)) -> Vec<u8> {
    let query = Packet::parse(query).expect("a query");
    let mut reply = Packet::new_reply(query.id());
    reply.questions = query.questions.clone();
    fill(&query.questions[0], &mut reply);
    reply.build_bytes_vec_compressed().expect("a message")
}
