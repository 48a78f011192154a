//! Adding up money of several models, some of it stated by the store and some of it to be priced.

use std::collections::BTreeMap;

use super::Tokens;
use super::files::shown;
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

    /// What all of it costs, as far as the models have prices.
    pub(crate) fn sum(&self, prices: &Prices) -> Sum {
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
        Sum { known: sum, unknown }
    }
}

/// What calls cost.
#[derive(Debug, Default)]
pub(crate) struct Sum {
    /// That of the calls whose price is known.
    pub(crate) known: Money,
    /// Which models have no price.
    pub(crate) unknown: Vec<String>,
}

impl Sum {
    /// What all calls cost, where each of them has a price.
    pub(crate) fn whole(&self) -> Option<Money> {
        self.unknown.is_empty().then_some(self.known)
    }

    /// What the calls with a price cost, where there are others too.
    pub(crate) fn part(&self) -> Option<Money> {
        (!self.unknown.is_empty() && self.known > Money::default()).then_some(self.known)
    }
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
