// The plugin's hooks module: `/cg` opens a pane, and a compaction keeps what the session must not lose. It only maps:
// what it shows and sends is the owner's (docs/view.md). Events are sent by the settings hooks, so they count once.

const PANE = 'context-graph'
const WAIT_MS = 1500
const START_MS = 5000

const pane = { lines: [], effect: '', shown: [], note: '', editing: null, undo: null }

/** @type {import('claude-code').Register} */
export const register = on => {
  on('session.start', async ($, e, next) => {
    const started = await next(e)
    await $.command.register({
      name: 'cg',
      description: 'context-graph: its health, and what it told Claude',
      immediate: true,
    })
    return started
  })

  on('command.run', { command: 'cg' }, async $ => {
    await refresh($)
    const opened = await $.ui.open({ id: PANE, title: 'context-graph', focus: true, closeOnEscape: true, rows: 20 })
    return opened.isPlaced ? {} : { text: textOf(), isTextDisplayOnly: true }
  })

  on('ui.render', { component: 'Pane' }, ($, e, next) => (e.requestId === PANE ? draw($, e) : next(e)))

  on('session.compact', async ($, e, next) => {
    if (e.agentId) return next(e)
    const told = await ask($, 'view.compaction', {}).catch(() => ({}))
    if (!told.instructions) return next(e)
    return next({ ...e, instructions: [e.instructions, told.instructions].filter(Boolean).join('\n\n') })
  })
}

/** One request to the owner; throws an Error whose message says what was wrong. */
async function ask($, verb, rest, { start = false } = {}) {
  const body = JSON.stringify({ project: await $.session.root(), session_id: await $.session.id(), ...rest })
  const sent = $.http.fetch(`http://localhost/v1/${verb}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    socketPath: await socketPath($),
  })
  const late = $.clock.sleep(start ? START_MS : WAIT_MS).then(() => {
    throw new Error('context-graph did not answer in time; `context-graph-cli doctor` says more')
  })
  let answer
  try {
    answer = await Promise.race([sent, late])
  } catch (error) {
    if (!start) throw error
    await $.process.run(['context-graph-cli', 'owner', 'start'], { timeoutMs: START_MS }).catch(() => {}) // asking says why
    return ask($, verb, rest)
  }
  const said = JSON.parse(answer.text || '{}')
  if (!answer.ok) throw new Error(said.error || `context-graph answered ${answer.status}`)
  return said
}

/** Where the owner listens: the rule of config/paths.py, but for roots too long for a socket. */
async function socketPath($) {
  const [root, shared, home] = await Promise.all([
    $.env.get('CONTEXT_GRAPH_HOME'),
    $.env.get('XDG_DATA_HOME'),
    $.env.get('HOME'),
  ])
  const base = root || (shared && shared.startsWith('/') ? `${shared}/context-graph` : `${home}/.local/share/context-graph`)
  return `${base}/run/owner.sock`
}

async function refresh($) {
  try {
    const found = await ask($, 'view.pane', {}, { start: true })
    pane.lines = found.lines
    pane.effect = found.effect_line
    pane.shown = found.shown.map((row, at) => ({ id: row.memory_id, text: row.text, lines: found.shown_lines[at] }))
  } catch (error) {
    pane.lines = [`not reached: ${error.message}`]
    pane.effect = ''
    pane.shown = []
  }
}

/** Runs an action of the pane, and shows how it went. */
async function act($, verb, body, note, undo) {
  try {
    const said = await ask($, verb, { body })
    pane.undo = undo ? undo(said) : null
    pane.note = note
  } catch (error) {
    pane.note = error.message
  }
  pane.editing = null
  await refresh($)
  $.ui.invalidate('ui.render')
}

const forget = ($, row) =>
  act($, 'memory.forget', { id: row.id }, `forgot ${row.id.slice(0, 8)}; u undoes it`, () => ({ id: row.id }))

const correct = ($, row, content) =>
  act(
    $,
    'memory.store',
    { content, rationale: 'corrected by the user in the pane', supersedes: [row.id] },
    `corrected; the earlier text is superseded`,
  )

const undoLast = $ => act($, 'memory.restore', pane.undo, 'restored')

function textOf() {
  return [...pane.lines, ...pane.shown.flatMap(row => row.lines), pane.effect].join('\n')
}

function draw($, e) {
  const { Box, Text, Button, Input } = $.ui.resolve(e)
  const line = (text, props) => h(Text, { wrap: 'truncate', ...props }, text || ' ')
  const rows = pane.shown.slice(0, 8).flatMap((row, at) => [
    h(
      Box,
      { key: `acts-${row.id}`, flexDirection: 'row', gap: 2 },
      h(Button, { key: `forget-${row.id}`, hotkey: String(at + 1), label: `${at + 1} forget`, onPress: () => void forget($, row) }),
      h(Button, {
        key: `correct-${row.id}`,
        hotkey: 'abcdfghi'[at],
        label: `${'abcdfghi'[at]} correct`,
        onPress: () => {
          pane.editing = row
          $.ui.invalidate('ui.render')
        },
      }),
      line(row.lines[0]),
    ),
    line(row.lines[1], { dimColor: true }),
  ])
  const editing = pane.editing && [
    h(Input, {
      key: 'text',
      label: 'correct: ',
      value: pane.editing.text,
      submitLabel: 'save',
      autoFocus: true,
      onSubmit: value => void correct($, pane.editing, value),
    }),
  ]
  const undo = pane.undo && [h(Button, { key: 'undo', hotkey: 'u', label: 'u undo', onPress: () => void undoLast($) })]
  return h(
    Box,
    { flexDirection: 'column' },
    ...(pane.note ? [line(pane.note, { color: 'success' })] : []),
    ...(undo || []),
    ...pane.lines.map(text => line(text, { wrap: 'wrap' })),
    ...(pane.shown.length ? [line('told to Claude, newest first:', { bold: true })] : []),
    ...(editing || rows),
    line(pane.effect, { wrap: 'wrap' }),
  )
}
