//! What the calls of an agent cost.

use super::Known;
use super::fact::Used;
use crate::session::Prices;
use crate::usage::Tokens;
use crate::usage::bill::{Sum, no_price};
use base::money::Money;

/// What tokens cost, in the log of a known agent or of another program.
#[derive(Clone, Copy)]
pub(crate) struct Priced<'a> {
    pub(crate) prices: &'a Prices,
    pub(crate) agent: Option<Known>,
}

impl Priced<'_> {
    fn cost(&self, model: &str, used: Used) -> Option<Money> {
        if used == Used::default() {
            return Some(Money::default());
        }
        let has_usual = self.agent.is_some_and(|agent| agent.has_usual_model());
        self.prices.price(model, has_usual).map(|price| Money(used.cost(price)))
    }
}

/// The tokens of these models together, and what they cost.
pub(crate) fn bill<'m>(
    models: impl IntoIterator<Item = &'m (String, Used)>,
    priced: Priced<'_>,
) -> (Tokens, Sum) {
    let (mut tokens, mut sum) = (Tokens::default(), Sum::default());
    for (model, used) in models {
        tokens = tokens.plus(Tokens {
            input: used.input,
            cache_write: used.write,
            cache_read: used.read,
            output: used.output,
        });
        match priced.cost(model, *used) {
            Some(more) => sum.known = sum.known.plus(more),
            None => sum.unknown.push(no_price(model)),
        }
    }
    (tokens, sum)
}
