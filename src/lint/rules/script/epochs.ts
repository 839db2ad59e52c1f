import type { ScriptRule } from '../../engine/rule.ts';
import type { Hit } from '../../source/finding.ts';
import { textsOf } from '../../script/resolve.ts';
import { hasOwnSaving, receiverText, trainsHere } from '../../script/saves.ts';
import type { Script } from '../../script/script.ts';
import { savesWithin } from '../../script/signals.ts';
import { resumeSaves } from '../../script/state.ts';
import { branches, loopsAround, type PyNode, within } from '../../script/syntax-node.ts';

const LOOP = (test: string): string => `
import torch
for epoch in range(50):
    for batch in loader:
        model(batch).backward()
        optimizer.step()
    if ${test}:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, "/runs/latest.pt")
`;

/** Multiples count from 0, so the first is saved too early and the last epochs are not. */
export const lastEpochsNotSaved: ScriptRule = {
  code: 'LAST_EPOCHS_NOT_SAVED',
  severity: 'info',
  on: 'script',
  title: 'The last epochs are in no checkpoint',
  why: 'Epochs count from 0, so `epoch % 5 == 0` saves after the first epoch, the sixth, and so on. The last save of 50 epochs is after epoch 45: an interruption in the last four epochs repeats all of them, and so does everybody who wants to train on from the end.',
  fix: 'Save if (epoch + 1) % 5 == 0, and once more after the last epoch.',
  bad: { script: LOOP('epoch % 5 == 0') },
  good: { script: LOOP('(epoch + 1) % 5 == 0 or epoch == 49') },
  check(script) {
    if (!trainsHere(script) || hasOwnSaving(script)) return [];
    return [...within(script.root)].flatMap((node): readonly Hit[] => {
      if (node.name !== 'IfStatement') return [];
      const [first] = branches(node);
      const [, name, every] =
        /^\(?(?:.*\band\s+)?\(?(\w*epoch\w*)\s*%\s*([\w.]+)\)?\s*==\s*0\)?$/is.exec(testOf(script, first?.test)) ?? [];
      if (first === undefined || name === undefined || every === undefined) return [];
      const loop = loopsAround(node).find((one) => countsIn(script, one) === name);
      if (loop === undefined || !isSave(script, first.body) || isSavedLater(script, { loop, branch: first.body })) return [];
      const left = unsaved(script, loop, every);
      return left === null ? [] : [{ at: first.test ?? node, message: left }];
    });
  },
};

function testOf(script: Script, test: PyNode | null | undefined): string {
  const text = test === null || test === undefined ? '' : script.textOf(test);
  return /\bor\b/.test(text) ? '' : text;
}

/** The variable of a `for` over a range that begins at 0, or where a resume begins. */
function countsIn(script: Script, loop: PyNode): string | null {
  const [, name, bounds = ''] = /^for\s+(\w+)\s+in\s+(?:\w+\()?range\(([^:]*)\)/.exec(script.textOf(loop).slice(0, 300)) ?? [];
  return name === undefined || /^1\s*,/.test(bounds) ? null : name;
}

function isSave(script: Script, body: PyNode): boolean {
  return savesWithin(script, body) || script.callsIn(body).some(({ method }) => /^save_?(?:checkpoint|ckpt|snapshot)/i.test(method));
}

/** Something that a training can go on from is saved behind the loop, or at another place in it. */
function isSavedLater(script: Script, { loop, branch }: { readonly loop: PyNode; readonly branch: PyNode }): boolean {
  const used = new Set(script.callsIn(branch).map((call) => `${receiverText(script, call)}.${call.method}`));
  const behind = (node: PyNode): boolean => node.from >= loop.to;
  const isSaver = (method: string): boolean => /save|checkpoint|ckpt/i.test(method);
  return (
    resumeSaves(script).some(({ save }) => behind(save.call.node)) ||
    script.calls.some(
      (call) =>
        behind(call.node) &&
        isSaver(call.method) &&
        call.callee !== 'torch.save' &&
        used.has(`${receiverText(script, call)}.${call.method}`),
    )
  );
}

/** What stays unsaved, as a sentence; null if it is nothing. */
function unsaved(script: Script, loop: PyNode, every: string): string | null {
  const range = script.callsIn(loop).find(({ callee }) => callee === 'range');
  const end = range === undefined ? undefined : (range.args[1] ?? range.args[0]);
  const total = end === undefined ? Number.NaN : Number(textsOf(script, end)[0]?.replaceAll(/[{}]/g, '') ?? Number.NaN);
  const step = Number(every);
  if (every === '1' || (total > 0 && step > 0 && (total - 1) % step === 0)) return null;
  if (!(total > 0) || !(step > 0)) return `Epochs count from 0: what comes after the last multiple of ${every} is never saved.`;
  const last = Math.floor((total - 1) / step) * step;
  return `Epochs count from 0: the last of ${total} that is saved is epoch ${last}, and an interruption after it goes back to it.`;
}
