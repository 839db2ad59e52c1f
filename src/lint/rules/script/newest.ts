import type { Hit } from '../../source/finding.ts';
import type { ScriptRule } from '../../engine/rule.ts';
import type { Fn, PyNode } from '../../script/syntax-node.ts';
import { hasOwnSaving, loadsOf } from '../../script/saves.ts';
import type { Script } from '../../script/script.ts';

/** The newest file by name or time may be damaged. */
export const loadsNewestBlindly: ScriptRule = {
  code: 'LOADS_NEWEST_BLINDLY',
  severity: 'warning',
  on: 'script',
  title: 'A resume loads the newest file without a check',
  why: 'The newest file is the one that the process was writing when it was killed. By time it may also be a copy, or a leftover of another run. By name step-900 comes after step-1000. A resume that trusts it fails at every start, or resumes from an older step.',
  fix: 'Check the file, and fall back to the one before. `holdfast verify --last-good` and `holdfast run` do that.',
  bad: {
    script:
      '\nimport glob, os, torch\nnewest = max(glob.glob("/runs/*.pt"), key=os.path.getmtime)\nmodel.load_state_dict(torch.load(newest))\n',
  },
  good: {
    script:
      '\nimport glob, os, torch\nfor path in sorted(glob.glob("/runs/*.pt"), reverse=True):\n    try:\n        model.load_state_dict(torch.load(path))\n        break\n    except Exception:\n        continue\n',
  },
  check(script) {
    if (hasOwnSaving(script)) return [];
    return loadsOf(script).flatMap(({ call, target }): Hit[] => {
      const chosen = choiceBehind(script, target, 4);
      if (chosen === null || isInTry(script, call.node)) return [];
      return [{ at: call.node, message: `This loads ${chosen}: a file that was cut by the last interruption is the newest.` }];
    });
  },
};

const NEWEST_BY: readonly (readonly [RegExp, string])[] = [
  [/\bmax\(.*(?:getmtime|getctime|st_mtime)/s, 'the file that was changed last'],
  [/sorted\(.*(?:getmtime|getctime|st_mtime).*\)\s*\[\s*-1\s*\]/s, 'the file that was changed last'],
  [/(?:natsorted|sorted)\(.*(?:glob|listdir|iterdir)\b.*\[\s*-1\s*\]/s, 'the last file by name'],
  [/\bmax\(.*(?:glob|listdir|iterdir)\b/s, 'the last file by name'],
];

/** What a path was chosen by, followed through variables and functions of this file. */
function choiceBehind(script: Script, node: PyNode, depth: number): string | null {
  const text = script.textOf(node);
  const found = NEWEST_BY.find(([pattern]) => pattern.test(text.slice(0, 1000)));
  if (found !== undefined) return found[1];
  if (depth === 0) return null;
  const fn = script.functionAround(node);
  const listed = /^([A-Za-z_]\w*)\s*\[\s*-1\s*\]$/.exec(text)?.[1];
  for (const value of listed === undefined ? [] : valuesOf(script, listed, fn)) {
    const last = NEWEST_BY.find(([pattern]) => pattern.test(`${script.textOf(value).slice(0, 1000)}[-1]`));
    if (last !== undefined) return last[1];
  }
  const values = [...new Set(text.match(/[A-Za-z_]\w*/g) ?? [])].flatMap((name) => valuesOf(script, name, fn));
  for (const value of values.slice(0, 10)) {
    const behind = value === node ? null : choiceBehind(script, value, depth - 1);
    if (behind !== null) return behind;
  }
  return null;
}

function valuesOf(script: Script, name: string, fn: Fn | null): readonly PyNode[] {
  const own = script
    .assignedTo(name)
    .filter((one) => one.fn === fn || one.fn === null)
    .flatMap(({ value }) => (value === null ? [] : [value]));
  const called = script.functionsNamed(name);
  const [only] = called;
  if (own.length > 0 || only === undefined || called.length > 1) return own;
  const body = only.node.children.find((child) => child.name === 'Body')?.children ?? [];
  return body.filter((child) => child.name === 'ReturnStatement').flatMap((child) => child.children.slice(1, 2));
}

function isInTry(script: Script, node: PyNode): boolean {
  for (let at: PyNode | null = node; at !== null; at = at.parent) if (at.name === 'TryStatement') return true;
  const fn = script.functionAround(node);
  return (
    fn !== null &&
    script.callsOf(fn).some((call) => {
      for (let at: PyNode | null = call.node; at !== null; at = at.parent) if (at.name === 'TryStatement') return true;
      return false;
    })
  );
}
