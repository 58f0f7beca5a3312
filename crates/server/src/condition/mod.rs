//! Conditions of handlers: `if` and `unless`, on the method, the client's address, fields and the query.
//!
//! A handler whose conditions do not hold declines the request, which is passed to the next handler of the path.

mod read;

use crate::address_set::AddressSet;
use crate::handler::{Exchange, Handler, Outcome};
use crate::pattern::Pattern;
use crate::query;

/// The conditions of a handler, as configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conditions {
    /// At least one of these must hold, unless empty.
    when: Vec<Criteria<String>>,
    /// None of these may hold.
    unless: Vec<Criteria<String>>,
}

/// Criteria for a request, all of which must hold. Regular expressions are either text or compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Criteria<P> {
    /// One of these methods; empty for any.
    methods: Vec<Box<[u8]>>,
    /// The client's address is one of these.
    addresses: Option<AddressSet>,
    /// For each of these fields, one of its lines matches.
    fields: Vec<Named<P>>,
    /// For each of these query parameters, one of its values matches.
    query: Vec<Named<P>>,
}

/// A regular expression for the value of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named<P> {
    name: Box<[u8]>,
    pattern: P,
}

impl Conditions {
    /// Wraps the handler so that it declines every request for which the conditions do not hold.
    ///
    /// # Errors
    /// A regular expression is invalid; a message for the user.
    pub(crate) fn guard(&self, handler: Box<dyn Handler>) -> Result<Box<dyn Handler>, String> {
        if self.when.is_empty() && self.unless.is_empty() {
            return Ok(handler);
        }
        let compiled =
            |list: &[Criteria<String>]| list.iter().map(Criteria::compiled).collect::<Result<_, _>>();
        Ok(Box::new(Guarded { when: compiled(&self.when)?, unless: compiled(&self.unless)?, handler }))
    }
}

/// A handler with conditions.
struct Guarded {
    when: Box<[Criteria<Pattern>]>,
    unless: Box<[Criteria<Pattern>]>,
    handler: Box<dyn Handler>,
}

impl Handler for Guarded {
    fn handle(&self, exchange: &mut Exchange<'_>) -> Outcome {
        let holds = |criteria: &Criteria<Pattern>| criteria.holds(exchange);
        if !self.when.is_empty() && !self.when.iter().any(holds) || self.unless.iter().any(holds) {
            return Outcome::Declined;
        }
        self.handler.handle(exchange)
    }

    fn connects(&self) -> bool {
        self.handler.connects()
    }
}

impl Criteria<String> {
    fn compiled(&self) -> Result<Criteria<Pattern>, String> {
        let (methods, addresses) = (self.methods.clone(), self.addresses.clone());
        Ok(Criteria { methods, addresses, fields: compiled(&self.fields)?, query: compiled(&self.query)? })
    }
}

impl Criteria<Pattern> {
    fn holds(&self, exchange: &Exchange<'_>) -> bool {
        let method = exchange.head.method_name();
        let query = exchange.head.query().unwrap_or_default();
        (self.methods.is_empty() || self.methods.iter().any(|own| **own == *method))
            && self.addresses.as_ref().is_none_or(|set| set.contains(exchange.client_address()))
            && self.fields.iter().all(|Named { name, pattern }| {
                let mut lines = exchange.head.fields().iter();
                lines.any(|(own, value)| own.eq_ignore_ascii_case(name) && pattern.matches(value))
            })
            && self.query.iter().all(|Named { name, pattern }| {
                let mut parameters = query::parameters(query);
                parameters.any(|(own, value)| {
                    *query::decoded(own) == **name && pattern.matches(&query::decoded(value))
                })
            })
    }
}

fn compiled(patterns: &[Named<String>]) -> Result<Vec<Named<Pattern>>, String> {
    let compile = |named: &Named<String>| {
        Ok(Named { name: named.name.clone(), pattern: Pattern::new(&named.pattern)? })
    };
    patterns.iter().map(compile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::source::Sources;
    use crate::config::yaml;
    use crate::handler::testing;

    struct Answers;

    impl Handler for Answers {
        fn handle(&self, _: &mut Exchange<'_>) -> Outcome {
            Outcome::Ready(hayami_http::Response::empty(hayami_http::Status::OK))
        }
    }

    /// Whether a handler with these conditions handles `request`: method, target and fields.
    fn answers(conditions: &str, request: (&str, &str, &[(&str, &str)])) -> bool {
        let node = yaml::read_text("test", conditions, &mut Sources::default()).expect("YAML");
        let conditions = Conditions::read(&node).expect("conditions");
        let guarded = conditions.guard(Box::new(Answers)).expect("a handler");
        let (method, target, fields) = request;
        let mut head = testing::head(method, target);
        fields.iter().for_each(|(name, value)| head.fields_mut().append(name.as_bytes(), value.as_bytes()));
        matches!(testing::handle(&*guarded, &head, 1), Outcome::Ready(_))
    }

    #[test]
    fn a_handler_declines_what_its_conditions_exclude() {
        let cookies: &[_] = &[("cookie", "a=1"), ("Cookie", "session=x")];
        for (conditions, request, want) in [
            ("{}", ("GET", "/", &[][..]), true),
            ("if: {method: GET}", ("GET", "/", &[]), true),
            ("if: {method: GET}", ("HEAD", "/", &[]), false),
            ("if: {method: [PURGE, GET]}", ("PURGE", "/", &[]), true),
            ("unless: {method: [GET, HEAD]}", ("POST", "/", &[]), true),
            ("unless: {method: [GET, HEAD]}", ("HEAD", "/", &[]), false),
            ("if: {address: 192.0.2.0/24}", ("GET", "/", &[]), true),
            ("if: {address: [10.0.0.0/8, 'unix:']}", ("GET", "/", &[]), false),
            ("if: {field: {Cookie: ^session=}}", ("GET", "/", cookies), true),
            ("if: {field: {cookie: ^session=y}}", ("GET", "/", cookies), false),
            ("unless: {field: {cookie: ''}}", ("GET", "/", cookies), false),
            ("unless: {field: {cookie: ''}}", ("GET", "/", &[]), true),
            ("if: {query: {lang: ^de$}}", ("GET", "/?lang=en&lang=de", &[]), true),
            ("if: {query: {lang: ^de$}}", ("GET", "/?lang=deu", &[]), false),
            ("if: {query: {'a b': '^c d&$'}}", ("GET", "/?x&a+b=c%20d%26", &[]), true),
            ("if: {query: {lang: ''}}", ("GET", "/?lang", &[]), true),
            ("if: {query: {lang: ''}}", ("GET", "/", &[]), false),
            ("if: {query: {a: '', b: ''}}", ("GET", "/?a", &[]), false),
            ("if: [{method: POST}, {query: {a: ''}}]", ("GET", "/?a", &[]), true),
            ("{if: {method: GET}, unless: {query: {a: ''}}}", ("GET", "/?a", &[]), false),
            ("{if: {method: GET}, unless: {query: {a: ''}, method: HEAD}}", ("GET", "/?a", &[]), true),
        ] {
            assert_eq!(answers(conditions, request), want, "{conditions} {request:?}");
        }
    }
}
