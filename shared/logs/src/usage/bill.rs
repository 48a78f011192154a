//! Adding up money of several models, some of it stated by the store and some of it to be priced.

use std::collections::BTreeMap;

use super::Tokens;
use super::files::shown;
use crate::agents::Known;
use crate::agents::fact::Used;
use crate::session::Prices;
use base::money::Money;

/// Most models that are told apart.
const MAX_MODELS: usize = 16;

/// Money that is known, and tokens that are still to be priced.
#[derive(Debug, Default)]
pub(crate) struct Bill {
    stated: Money,
    unpriced: BTreeMap<String, Tokens>,
}

impl Bill {
    /// Adds tokens of a model; `cost` where it is known.
    pub(crate) fn add(&mut self, model: &str, tokens: Tokens, cost: Option<Money>) {
        if let Some(cost) = cost {
            self.stated = self.stated.plus(cost);
        } else if tokens.total() > 0 {
            let is_told = self.unpriced.len() < MAX_MODELS || self.unpriced.contains_key(model);
            let sum =
                self.unpriced.entry(if is_told { model } else { "(further models)" }.into()).or_default();
            *sum = sum.plus(tokens);
        }
    }

    /// The sum, and which models have no price; no sum where there is one of those.
    pub(crate) fn sum(&self, prices: &Prices) -> (Option<Money>, Vec<String>) {
        let mut sum = self.stated;
        let mut unknown = Vec::new();
        for (model, t) in &self.unpriced {
            match prices.price(model, false) {
                Some(price) => {
                    sum = sum.plus(Money(price.of(t.input, t.cache_write, 0, t.cache_read, t.output)));
                }
                None => unknown.push(no_price(model)),
            }
        }
        (unknown.is_empty().then_some(sum), unknown)
    }
}

/// What tokens cost, in the log of an agent or of somebody else.
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

/// The tokens of these models together, what they cost, and which models have no price; no sum where there is one of those.
pub(crate) fn bill<'m>(
    models: impl IntoIterator<Item = &'m (String, Used)>,
    priced: Priced<'_>,
) -> (Tokens, Option<Money>, Vec<String>) {
    let (mut tokens, mut cost, mut unknown) = (Tokens::default(), Money::default(), Vec::new());
    for (model, used) in models {
        tokens = tokens.plus(Tokens {
            input: used.input,
            cache_write: used.write,
            cache_read: used.read,
            output: used.output,
        });
        match priced.cost(model, *used) {
            Some(more) => cost = cost.plus(more),
            None => unknown.push(no_price(model)),
        }
    }
    (tokens, unknown.is_empty().then_some(cost), unknown)
}

/// Says that a model has no price.
pub(crate) fn no_price(model: &str) -> String {
    match model {
        "" => "no price: the model is not named".into(),
        _ => format!("no price for {}", shown(model)),
    }
}

/// Dollars as money; `None` where it is not an amount.
pub(crate) fn dollars(amount: f64) -> Option<Money> {
    serde_json::from_value(serde_json::Value::from(amount)).ok()
}
