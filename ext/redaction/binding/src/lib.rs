//! `context_graph.redact._redaction`: the redactor for Python, text in and text out.

use pyo3::prelude::*;
use pyo3::types::PyString;
use redaction::{finds, mask, mask_cut, Care};

/// Bytes from which on other threads may run meanwhile; handing over costs more than a short text.
const LONG: usize = 16_384;

fn masked(py: Python<'_>, text: &str, care: Care) -> Option<String> {
    let run = || {
        finds(text.as_bytes(), care).then(|| {
            let mut out = Vec::with_capacity(text.len());
            mask(text.as_bytes(), care, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        })
    };
    if text.len() < LONG {
        run()
    } else {
        py.detach(run)
    }
}

/// The text with each secret replaced; None if there is none. Raises UnicodeEncodeError for lone surrogates.
#[pyfunction]
fn redact(text: &Bound<'_, PyString>) -> PyResult<Option<String>> {
    Ok(masked(text.py(), text.to_str()?, Care::Full))
}

/// The same of an id: issuers' tokens alone.
#[pyfunction]
fn redact_id(text: &Bound<'_, PyString>) -> PyResult<Option<String>> {
    Ok(masked(text.py(), text.to_str()?, Care::IdsKept))
}

/// At most `limit` bytes of the redacted start, of whose first `window` bytes all else is cut away.
#[pyfunction]
fn redact_cut(text: &Bound<'_, PyString>, limit: usize, window: usize) -> PyResult<String> {
    let text = text.to_str()?;
    Ok(String::from_utf8_lossy(&mask_cut(text.as_bytes(), limit, window)).into_owned())
}

/// How many rules there are.
#[pyfunction]
fn rule_count() -> usize {
    redaction::RULES
}

#[pymodule]
fn _redaction(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(redact, module)?)?;
    module.add_function(wrap_pyfunction!(redact_id, module)?)?;
    module.add_function(wrap_pyfunction!(redact_cut, module)?)?;
    module.add_function(wrap_pyfunction!(rule_count, module)?)
}
