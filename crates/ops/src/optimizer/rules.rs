//! What each optimiser does to one element, in the order of TensorFlow's CPU kernels (so that roundings agree).
//!
//! A formula gets an op's inputs in order (variable, slots, then gradient and scalars as the OpDef has them) and the op's
//! own flag, and returns the new variable and slots.

use tfvk_device::DType;

use crate::expr::Value;

/// One op.
pub(super) struct Rule {
    pub op: &'static str,
    /// Inputs that are variables; the first ones.
    pub variables: usize,
    /// The input that is the gradient.
    pub grad: usize,
    /// The bool attribute that the formula looks at.
    pub flag: Option<&'static str>,
    pub formula: for<'a> fn(&[Value<'a>], bool) -> Vec<Value<'a>>,
}

type Formula = for<'a> fn(&[Value<'a>], bool) -> Vec<Value<'a>>;

const fn rule(op: &'static str, variables: usize, grad: usize, formula: Formula) -> Rule {
    Rule { op, variables, grad, flag: None, formula }
}

const fn flagged(op: &'static str, variables: usize, grad: usize, flag: &'static str, formula: Formula) -> Rule {
    Rule { op, variables, grad, flag: Some(flag), formula }
}

pub(super) const RULES: &[Rule] = &[
    rule("ResourceApplyGradientDescent", 1, 2, |x, _| {
        let &[var, alpha, delta] = x else { return wrong(x) };
        vec![var - delta * alpha]
    }),
    flagged("ResourceApplyMomentum", 2, 3, "use_nesterov", |x, nesterov| {
        let &[var, accum, lr, grad, momentum] = x else { return wrong(x) };
        let accum = accum * momentum + grad;
        let step = if nesterov { grad * lr + accum * momentum * lr } else { accum * lr };
        vec![var - step, accum]
    }),
    flagged("ResourceApplyKerasMomentum", 2, 3, "use_nesterov", |x, nesterov| {
        let &[var, accum, lr, grad, momentum] = x else { return wrong(x) };
        let accum = accum * momentum - grad * lr;
        let step = if nesterov { accum * momentum - grad * lr } else { accum };
        vec![var + step, accum]
    }),
    flagged("ResourceApplyAdam", 3, 9, "use_nesterov", |x, nesterov| {
        let &[var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad] = x else { return wrong(x) };
        let alpha = lr * (beta2_power.lit(1.0) - beta2_power).sqrt() / (1.0 - beta1_power);
        let m = m + (grad - m) * (1.0 - beta1);
        let v = v + (grad.square() - v) * (1.0 - beta2);
        let step = if nesterov { (grad * (1.0 - beta1) + beta1 * m) * alpha } else { m * alpha };
        vec![var - step / (v.sqrt() + epsilon), m, v]
    }),
    rule("ResourceApplyAdamWithAmsgrad", 4, 10, |x, _| {
        let &[var, m, v, vhat, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad] = x else { return wrong(x) };
        let alpha = lr * (beta2_power.lit(1.0) - beta2_power).sqrt() / (1.0 - beta1_power);
        let m = m + (grad - m) * (1.0 - beta1);
        let v = v + (grad.square() - v) * (1.0 - beta2);
        let vhat = vhat.maximum(v);
        vec![var - m * alpha / (vhat.sqrt() + epsilon), m, v, vhat]
    }),
    rule("ResourceApplyAdaMax", 3, 8, |x, _| {
        let &[var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad] = x else { return wrong(x) };
        let m = m + (grad - m) * (1.0 - beta1);
        let v = (beta2 * v).maximum(grad.abs());
        vec![var - lr / (1.0 - beta1_power) * (m / (v + epsilon)), m, v]
    }),
    flagged("ResourceApplyAdagrad", 2, 3, "update_slots", |x, update| {
        let &[var, accum, lr, grad] = x else { return wrong(x) };
        let accum = if update { accum + grad.square() } else { accum };
        vec![var - grad * lr * rsqrt(accum), accum]
    }),
    flagged("ResourceApplyAdagradV2", 2, 4, "update_slots", |x, update| {
        let &[var, accum, lr, epsilon, grad] = x else { return wrong(x) };
        let accum = if update { accum + grad.square() } else { accum };
        vec![var - grad * lr / (accum.sqrt() + epsilon), accum]
    }),
    rule("ResourceApplyAdagradDA", 3, 3, |x, _| {
        let &[_, accum, squared, grad, lr, l1, l2, step] = x else { return wrong(x) };
        let (accum, squared) = (accum + grad, squared + grad.square());
        let step = step.convert(DType::F32).convert(lr.dtype());
        let shrunk = -lr * sign(accum) * (accum.abs() - step * l1).maximum(accum.lit(0.0));
        let up = l1.gt(l1.lit(0.0)).select(shrunk, -(lr * accum));
        vec![up / (l2 * (step * lr) + squared.sqrt()), accum, squared]
    }),
    rule("ResourceApplyAdadelta", 3, 6, |x, _| {
        let &[var, accum, accum_update, lr, rho, epsilon, grad] = x else { return wrong(x) };
        let accum = accum * rho + grad.square() * (1.0 - rho);
        let update = (accum_update + epsilon).sqrt() * rsqrt(accum + epsilon) * grad;
        vec![var - update * lr, accum, accum_update * rho + update.square() * (1.0 - rho)]
    }),
    rule("ResourceApplyRMSProp", 3, 7, |x, _| {
        let &[var, ms, mom, lr, rho, momentum, epsilon, grad] = x else { return wrong(x) };
        let ms = ms + (grad.square() - ms) * (1.0 - rho);
        let mom = mom * momentum + grad * lr / (ms + epsilon).sqrt();
        vec![var - mom, ms, mom]
    }),
    rule("ResourceApplyCenteredRMSProp", 4, 8, |x, _| {
        let &[var, mg, ms, mom, lr, rho, momentum, epsilon, grad] = x else { return wrong(x) };
        let ms = ms + (grad.square() - ms) * (1.0 - rho);
        let mg = mg + (grad - mg) * (1.0 - rho);
        let mom = mom * momentum + grad * lr / ((ms - mg.square()) + epsilon).sqrt();
        vec![var - mom, mg, ms, mom]
    }),
    flagged("ResourceApplyFtrl", 3, 3, "multiply_linear_by_lr", |x, multiply| {
        let &[var, accum, linear, grad, lr, l1, l2, lr_power] = x else { return wrong(x) };
        ftrl([var, accum, linear], [grad, grad], [lr, l1, l2, lr_power], multiply)
    }),
    flagged("ResourceApplyFtrlV2", 3, 3, "multiply_linear_by_lr", |x, multiply| {
        let &[var, accum, linear, grad, lr, l1, l2, l2_shrinkage, lr_power] = x else { return wrong(x) };
        ftrl([var, accum, linear], [grad, grad + 2.0 * l2_shrinkage * var], [lr, l1, l2, lr_power], multiply)
    }),
    rule("ResourceApplyProximalGradientDescent", 1, 4, |x, _| {
        let &[var, alpha, l1, l2, delta] = x else { return wrong(x) };
        vec![proximal(var - delta * alpha, alpha, l1, l2)]
    }),
    rule("ResourceApplyProximalAdagrad", 2, 5, |x, _| {
        let &[var, accum, lr, l1, l2, grad] = x else { return wrong(x) };
        let accum = accum + grad.square();
        let rate = lr * rsqrt(accum);
        vec![proximal(var - grad * rate, rate, l1, l2), accum]
    }),
    rule("ResourceApplyAddSign", 2, 6, |x, _| {
        let &[var, m, lr, alpha, sign_decay, beta, grad] = x else { return wrong(x) };
        let m = m * beta + grad * (1.0 - beta);
        vec![var - lr * (alpha + sign_decay * (sign(grad) * sign(m))) * grad, m]
    }),
    rule("ResourceApplyPowerSign", 2, 6, |x, _| {
        let &[var, m, lr, logbase, sign_decay, beta, grad] = x else { return wrong(x) };
        let m = m * beta + grad * (1.0 - beta);
        vec![var - lr * (logbase * sign_decay * (sign(grad) * sign(m))).exp() * grad, m]
    }),
];

/// A number of operands that the op does not have.
fn wrong<'a>(x: &[Value<'a>]) -> Vec<Value<'a>> {
    x.first().map(|v| v.unsupported("an update with this number of operands")).into_iter().collect()
}

fn rsqrt(x: Value<'_>) -> Value<'_> {
    1.0 / x.sqrt()
}

fn sign(x: Value<'_>) -> Value<'_> {
    let zero = x.lit(0.0);
    x.gt(zero).select(x.lit(1.0), x.lt(zero).select(x.lit(-1.0), x))
}

/// sign(v) max(|v| - rate l1, 0) / (1 + l2 rate); without the shrinking where l1 is 0.
fn proximal<'a>(v: Value<'a>, rate: Value<'a>, l1: Value<'a>, l2: Value<'a>) -> Value<'a> {
    let shrunk = sign(v) * (v.abs() - rate * l1).maximum(v.lit(0.0));
    l1.gt(l1.lit(0.0)).select(shrunk, v) / (1.0 + l2 * rate)
}

/// Variables: var, accum, linear. Gradients: as given, with shrinkage. Scalars: lr, l1, l2, lr_power.
fn ftrl<'a>(variables: [Value<'a>; 3], gradients: [Value<'a>; 2], scalars: [Value<'a>; 4], multiply: bool) -> Vec<Value<'a>> {
    let ([var, accum, linear], [grad, shrunk], [lr, l1, l2, lr_power]) = (variables, gradients, scalars);
    let new_accum = accum + grad.square();
    let power = |v: Value<'a>| lr_power.is(-0.5).select(v.sqrt(), v.pow(-lr_power));
    let (high, low) = (power(new_accum), power(accum));
    let (linear, bound, y) = if multiply {
        (linear + (shrunk * lr - (high - low) * var), l1 * lr, high + 2.0 * l2 * lr)
    } else {
        (linear + (shrunk - (high - low) / lr * var), l1, high / lr + 2.0 * l2)
    };
    let x = bound * sign(linear) - linear;
    vec![linear.abs().gt(bound).select(x / y, var.lit(0.0)), new_accum, linear]
}
