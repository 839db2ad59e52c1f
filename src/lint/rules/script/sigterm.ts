import type { Hit } from '../../source/finding.ts';
import type { ScriptRule } from '../../engine/rule.ts';
import { around, type PyNode, within } from '../../script/syntax-node.ts';
import { hasOwnSaving, importText, isRepeated, isTrainingLoop, savesOf, trainsHere, usesHoldfast } from '../../script/saves.ts';
import { catchesOf, collectiveIn, exitsIn, flagTests, handlersOf, savesWithin } from '../../script/signals.ts';
import { resumeSaves } from '../../script/state.ts';
import type { Script } from '../../script/script.ts';
import { isSupervised } from '../../manifest/facts.ts';

const FLAGGED = (end: string): string => `
import signal, sys, torch
stop = False
def on_sigterm(signum, frame):
    global stop
    stop = True
signal.signal(signal.SIGTERM, on_sigterm)
for step, batch in enumerate(loader):
    model(batch).backward()
    optimizer.step()
    if stop:
        save(model, optimizer, step)
        ${end}
`;

/** Exit code 0 means that the run is finished. */
export const sigtermExitsZero: ScriptRule = {
  code: 'SIGTERM_EXITS_ZERO',
  severity: 'error',
  on: 'script',
  title: 'An interrupted run ends with exit code 0',
  why: 'Exit code 0 makes the pod Succeeded, also after SIGTERM. A Job counts that as a completion, an index is done for good, and a PyTorchJob whose Master ends with 0 has Succeeded. The training counts as finished although it is not, and nothing starts it again.',
  fix: 'End with 143 after saving: sys.exit(143).',
  bad: { script: FLAGGED('sys.exit(0)') },
  good: { script: FLAGGED('sys.exit(143)') },
  check(script) {
    const handlers = handlersOf(script);
    const direct = handlers.flatMap(({ fn }) => (fn === null ? [] : exitsIn(script, fn.node))).filter(({ code }) => code === 'zero');
    const flagged = [...flagTests(script).map(({ body }) => body), ...catchesOf(script)]
      .flatMap((body) => (body === null ? [] : exitsIn(script, body)))
      .filter(({ code }) => code === 'zero');
    const message = 'with exit code 0 after SIGTERM, and Kubernetes counts the unfinished training as complete.';
    const nodes = new Map([...direct, ...flagged].map(({ node }) => [node.from, node]));
    if (nodes.size > 0) return [...nodes.values()].map((node): Hit => ({ at: node, message: `The process exits ${message}` }));
    const left = flagTests(script).find((one) => leaves(script, one.node, one.body));
    if (left === undefined || exitsIn(script, script.root).some(({ code }) => code !== 'zero') || raises(script, left.body)) return [];
    return [{ at: left.test, message: `The loop ends here, and the process exits ${message}` }];
  },
};

/** The loop is left because of the flag: `break`, `return`, or the head of a `while`. */
function leaves(script: Script, node: PyNode, body: PyNode | null): boolean {
  if (!trainsHere(script)) return false;
  if (body === null) return isTrainingLoop(script, node);
  const isInLoop = isRepeated(script, node);
  return isInLoop && body.children.some(({ name }) => name === 'BreakStatement' || name === 'ReturnStatement');
}

function raises(script: Script, body: PyNode | null): boolean {
  const text = body === null ? '' : script.textOf(body);
  return /\braise\b|os\.kill\(|os\._exit\(/.test(text) || /SIG_DFL/.test(script.text);
}

/** A handler may run between any two instructions. */
export const sigtermSavesInHandler: ScriptRule = {
  code: 'SIGTERM_SAVES_IN_HANDLER',
  severity: 'error',
  on: 'script',
  title: 'The handler of SIGTERM saves, or waits for other ranks',
  why: 'Python runs a handler between any two instructions of the main thread. That may be in the middle of optimizer.step(), when half of the parameters are updated, or of another save to the same file. A collective in the handler waits for ranks that never join. The file that results loads without an error.',
  fix: 'Set a flag in the handler, and save in the training loop, after a step.',
  bad: {
    script: `
import signal, sys, torch
def on_sigterm(signum, frame):
    torch.save(model.state_dict(), "/runs/last.pt")
    sys.exit(143)
signal.signal(signal.SIGTERM, on_sigterm)
`,
  },
  good: { script: FLAGGED('sys.exit(143)') },
  check(script) {
    return handlersOf(script).flatMap(({ fn, call }): Hit[] => {
      if (fn === null) return [];
      const name = fn.name === '' ? '' : `${fn.name} `;
      if (savesWithin(script, fn.node))
        return [{ at: call.node, message: `The handler ${name}saves: it may run in the middle of a step or of another save.` }];
      const waits = collectiveIn(script, fn.node);
      if (waits === null) return [];
      return [
        {
          at: call.node,
          message: `The handler ${name}calls ${waits.callee}, which waits for ranks that may get no signal or are in another collective.`,
        },
      ];
    });
  },
};

/** An epoch is longer than the grace. */
export const sigtermPolledPerEpoch: ScriptRule = {
  code: 'SIGTERM_POLLED_PER_EPOCH',
  severity: 'error',
  on: 'script',
  title: 'The flag that SIGTERM sets is checked once an epoch',
  why: 'Between two checks is a whole epoch, minutes at least. A pod has 30 s, or 15 on a Spot node of GKE. The save on SIGTERM practically never happens, because the process is killed before its next check.',
  fix: 'Check the flag after every step, in the loop over batches.',
  bad: {
    script: `
import signal, sys, torch
stop = False
def on_sigterm(signum, frame):
    global stop
    stop = True
signal.signal(signal.SIGTERM, on_sigterm)
for epoch in range(50):
    run_epoch(model, loader)
    if stop:
        torch.save(model.state_dict(), "/runs/last.pt")
        sys.exit(143)
`,
  },
  good: { script: FLAGGED('sys.exit(143)') },
  check(script) {
    const tests = flagTests(script);
    const perEpoch = tests.filter(({ node }) => isPerEpoch(script, node));
    if (perEpoch.length === 0 || perEpoch.length < tests.length) return [];
    const [first] = perEpoch;
    return first === undefined
      ? []
      : [{ at: first.test, message: 'This is checked once an epoch: the grace ends before that, and the save does not happen.' }];
  },
};

function isPerEpoch(script: Script, test: PyNode): boolean {
  const loop = [...around(test)].find(({ name }) => name === 'ForStatement' || name === 'WhileStatement');
  if (loop === undefined || loop.to <= test.from) return false;
  const known = script.once('loops-over-epochs', () => new Map<PyNode, boolean>());
  const isOverEpochs = known.get(loop) ?? goesOverEpochs(script, loop);
  known.set(loop, isOverEpochs);
  return isOverEpochs;
}

/**
 * One round of the loop is longer than a step: another loop lies within it, or its head says so.
 */
function goesOverEpochs(script: Script, loop: PyNode): boolean {
  const head = script.textOf(loop).split('\n')[0] ?? '';
  const body = loop.children.findLast(({ name }) => name === 'Body');
  const inner =
    body === undefined
      ? []
      : [...within(body)].filter((node) => (node.name === 'ForStatement' || node.name === 'WhileStatement') && isOwn(script, node, loop));
  const hasInner = inner.some(
    (node) => isTrainingLoop(script, node) || /\b(?:batch|loader|step|iter|data)\w*/i.test(script.textOf(node).split('\n')[0] ?? ''),
  );
  return hasInner || (/\bepochs?\b/i.test(head) && !script.callsIn(loop).some(({ method }) => method === 'backward'));
}

function isOwn(script: Script, node: PyNode, loop: PyNode): boolean {
  return script.functionAround(node) === script.functionAround(loop);
}

/** SIGTERM ignored. */
export const sigtermIgnored: ScriptRule = {
  code: 'SIGTERM_IGNORED',
  severity: 'error',
  on: 'script',
  title: 'SIGTERM is ignored',
  why: 'With SIG_IGN the process trains until the grace is over, and is killed with everything that it has not saved.',
  fix: 'Register a handler that sets a flag, and save after the next step.',
  bad: { script: '\nimport signal, torch\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n' },
  good: { script: FLAGGED('sys.exit(143)') },
  check(script) {
    const ignored = handlersOf(script).filter((handler) => handler.isIgnored);
    const others = handlersOf(script).some(({ fn }) => fn !== null);
    if (!/\b(?:torch|tensorflow|keras|jax|transformers|lightning)\b/.test(importText(script))) return [];
    // Around a section that must not be torn it is put back later.
    if (others || handlersOf(script).some(({ isDefault }) => isDefault)) return [];
    return ignored
      .filter(({ call }) => call.fn === null || /main|train/.test(call.fn.name))
      .map(({ call }) => ({
        at: call.node,
        message: 'SIGTERM is ignored here: the process is killed at the end of its grace without a save.',
      }));
  },
};

/** No handler. */
export const noSigtermHandler: ScriptRule = {
  code: 'NO_SIGTERM_HANDLER',
  severity: 'warning',
  on: 'script',
  title: 'The training does not handle SIGTERM',
  why: 'The script saves now and then, and does not use the seconds that an interruption leaves. All work since the last save is lost. As the first process of a container Python ignores SIGTERM, and is killed when the grace is over.',
  fix: 'Set a flag in a handler of SIGTERM and save after the next step, or run the script under `holdfast run`.',
  bad: {
    script: `
import torch
for step, batch in enumerate(loader):
    model(batch).backward()
    optimizer.step()
    if step % 1000 == 0:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, path)
`,
  },
  good: { script: FLAGGED('sys.exit(143)') },
  check(script, world) {
    if (!trainsHere(script) || usesHoldfast(script) || hasOwnSaving(script) || handlersOf(script).length > 0) return [];
    // Something of that name may be registered elsewhere.
    if (
      /sigterm|signal|preempt|interrupt|grace|elastic/i.test(importText(script).replaceAll(/\bsignal\b/g, '')) ||
      /SIGTERM|SIGUSR|preempt|graceful/i.test(script.code)
    )
      return [];
    const repeated = resumeSaves(script)
      .map(({ save }) => save)
      .find(({ call }) => isRepeated(script, call.node));
    const runners = world.runnersOf(script);
    if (repeated === undefined || savesOf(script).length === 0 || (runners.length > 0 && runners.every(isSupervised))) return [];
    return [
      {
        at: repeated.call.node,
        message: 'Nothing in this file handles SIGTERM: an interruption loses all work since the last of these saves.',
      },
    ];
  },
};
