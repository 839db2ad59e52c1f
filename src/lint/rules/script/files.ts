import type { Hit } from '../../source/finding.ts';
import type { ScriptRule } from '../../engine/rule.ts';
import { type Call, type Fn, type PyNode, statementOf } from '../../script/syntax-node.ts';
import { baseName, isKnown, textsOf } from '../../script/resolve.ts';
import {
  type FileCall,
  hasOwnSaving,
  isDistributed,
  isForOneRank,
  isRepeated,
  loadsOf,
  receiverText,
  savesOf,
  trainsHere,
} from '../../script/saves.ts';
import type { Script } from '../../script/script.ts';
import { resumeSaves } from '../../script/state.ts';
import { isExport, loadsNothing, saysOnlyWeights } from '../../script/whole-story.ts';

const LOOP = (save: string, load = 'checkpoint = torch.load("/runs/latest.pt")'): string => `
import os, torch
if os.path.exists("/runs/latest.pt"):
    ${load}
    model.load_state_dict(checkpoint["model"])
for step, batch in enumerate(loader):
    model(batch).backward()
    optimizer.step()
    if step % 1000 == 0:
${save.replaceAll(/^/gm, '        ')}
`;

const SAFE = `with open("/runs/latest.pt.tmp", "wb") as file:
    torch.save(state, file)
    file.flush()
    os.fsync(file.fileno())
os.replace("/runs/latest.pt.tmp", "/runs/latest.pt")`;

interface Rename {
  readonly call: Call;
  readonly from: PyNode;
  readonly to: PyNode;
}

/** Everything that gives a file another name. */
function renamesOf(script: Script): readonly Rename[] {
  return script.once('renames', () =>
    script.calls.flatMap((call): Rename[] => {
      const [first, second] = call.args;
      if (/^(?:os\.(?:rename|replace|renames)|shutil\.move)$/.test(call.callee))
        return first === undefined || second === undefined ? [] : [{ call, from: first, to: second }];
      const isPath = (call.method === 'rename' || (call.method === 'replace' && call.args.length === 1)) && call.receiver !== null;
      return isPath && call.receiver !== null && first !== undefined ? [{ call, from: call.receiver, to: first }] : [];
    }),
  );
}

/** The rename that follows a save of this file in the same function. */
function renameOf(script: Script, { call, target, paths }: FileCall): Rename | undefined {
  const opened = openedBy(script, target) ?? target;
  return renamesOf(script).find((rename) => {
    if (rename.call.fn !== call.fn || rename.call.node.from < call.node.from) return false;
    const same = script.textOf(rename.from) === script.textOf(opened) || script.textOf(rename.from).startsWith(`${script.textOf(target)}.`);
    return same || textsOf(script, rename.from).some((path) => isKnown(path) && paths.includes(path));
  });
}

/** The path of the `open` behind a file. */
function openedBy(script: Script, target: PyNode): PyNode | null {
  const value = script.assignedTo(script.textOf(target)).find((one) => one.fn === script.functionAround(target))?.value ?? null;
  const call = script.callAt(value);
  return call?.args[0] ?? call?.receiver ?? null;
}

/** A file that a resume reads is written under its own name. */
export const saveInPlace: ScriptRule = {
  code: 'SAVE_IN_PLACE',
  severity: 'error',
  on: 'script',
  title: 'The checkpoint that a resume loads is overwritten in place',
  why: '`torch.save` empties the file and writes it again, which takes seconds to minutes. A process that is killed in that time leaves half a file under the only name that a resume looks for. The last good state is gone.',
  fix: 'Write to another name in the same folder, sync it, and os.replace it to the final name.',
  bad: { script: LOOP('torch.save(state, "/runs/latest.pt")') },
  good: { script: LOOP(SAFE) },
  check(script) {
    if (hasOwnSaving(script)) return [];
    const loaded = new Set(
      loadsOf(script)
        .flatMap(({ paths }) => paths.map(baseName))
        .filter((name) => isKnown(name) && name !== ''),
    );
    return savesOf(script).flatMap((save): Hit[] => {
      const names = save.paths.map(baseName);
      const own = names.find((name) => loaded.has(name)) ?? overwritten(script, save);
      if (own === undefined || !isRepeated(script, save.call.node) || renameOf(script, save) !== undefined || movedAside(script, save))
        return [];
      return [
        {
          at: save.call.node,
          message: `This save overwrites ${own} in place: a process that is killed in the middle of it leaves half a file and no older one.`,
        },
      ];
    });
  },
};

/**
 * The one name of a state that the training saves again and again, where nothing in the file loads
 * any.
 */
function overwritten(script: Script, save: FileCall): string | undefined {
  if (!trainsHere(script) || !loadsNothing(script) || isExport(script, save)) return undefined;
  const isState = resumeSaves(script).some((one) => one.save === save && one.holds.has('optimizer'));
  if (!isState && !saysOnlyWeights(script).includes(save)) return undefined;
  return save.paths.length === 1 && save.paths.every(isKnown) ? baseName(save.paths[0] ?? '') : undefined;
}

/** The old one was renamed before, and is still there. */
function movedAside(script: Script, save: FileCall): boolean {
  return renamesOf(script).some((rename) => rename.call.fn === save.call.fn && rename.call.node.to <= save.call.node.from);
}

/** A rename does not write the bytes. */
export const renameWithoutSync: ScriptRule = {
  code: 'RENAME_WITHOUT_FSYNC',
  severity: 'warning',
  on: 'script',
  title: 'A checkpoint is renamed before its bytes are on the disk',
  why: 'A rename is atomic for readers, and does not write the bytes to the disk. After a power cut, or when a Spot machine is switched off, the new name may belong to an empty file, and the old file is gone. Sync the file before the rename.',
  fix: 'Call file.flush() and os.fsync(file.fileno()) before os.replace, and sync the folder after it.',
  bad: { script: LOOP('torch.save(state, "/runs/latest.pt.tmp")\nos.replace("/runs/latest.pt.tmp", "/runs/latest.pt")') },
  good: { script: LOOP(SAFE) },
  check(script) {
    return savesOf(script).flatMap((save): Hit[] => {
      const rename = renameOf(script, save);
      if (rename === undefined || syncsIn(script, save.call.fn)) return [];
      return [
        {
          at: rename.call.node,
          message: 'The file gets its final name before its bytes are synced: after a power cut it may be empty.',
        },
      ];
    });
  },
};

function syncsIn(script: Script, fn: Fn | null): boolean {
  const calls = fn === null ? script.calls : script.callsIn(fn.node);
  return calls.some(({ callee, method }) => /sync/i.test(callee) || /sync/i.test(method));
}

/** Ranks that write one temporary file. */
export const sharedTemporary: ScriptRule = {
  code: 'TEMPORARY_SHARED_BY_RANKS',
  severity: 'error',
  on: 'script',
  title: 'All ranks write one temporary file',
  why: 'Every rank opens the same temporary name, and the last rename wins. The checkpoint is a mixture of the writes of several processes, or a rank finds its file gone.',
  fix: 'Let rank 0 save, or put the rank into the name.',
  bad: {
    script: `import torch.distributed as dist\ndist.init_process_group("nccl")${LOOP('torch.save(state, "/runs/latest.tmp")\nos.replace("/runs/latest.tmp", "/runs/latest.pt")')}`,
  },
  good: {
    script: `import torch.distributed as dist\ndist.init_process_group("nccl")${LOOP('if dist.get_rank() == 0:\n    torch.save(state, "/runs/latest.tmp")\n    os.replace("/runs/latest.tmp", "/runs/latest.pt")')}`,
  },
  check(script) {
    if (!isDistributed(script)) return [];
    return savesOf(script).flatMap((save): Hit[] => {
      if (
        renameOf(script, save) === undefined ||
        save.paths.some((path) => /rank|pid|uuid|temp|worker|shard/i.test(path)) ||
        isForOneRank(script, save.call.node)
      )
        return [];
      return [
        { at: save.call.node, message: `Every rank writes ${baseName(save.paths[0] ?? 'this file')}: the ranks overwrite each other.` },
      ];
    });
  },
};

/** A rename to another file system is a copy. */
export const temporaryElsewhere: ScriptRule = {
  code: 'TEMPORARY_ELSEWHERE',
  severity: 'error',
  on: 'script',
  title: 'The temporary file is on another file system',
  why: 'A rename is atomic only within one file system. From /tmp to a mounted volume os.replace fails with EXDEV, and shutil.move copies. A process that is killed during the copy leaves half a file under the final name.',
  fix: 'Make the temporary file in the folder of the checkpoint.',
  bad: {
    script: LOOP('torch.save(state, "/tmp/latest.pt")\nshutil.move("/tmp/latest.pt", "/runs/latest.pt")').replace(
      'import os',
      'import shutil, os',
    ),
  },
  good: { script: LOOP(SAFE) },
  check(script) {
    return savesOf(script).flatMap((save): Hit[] => {
      const rename = renameOf(script, save);
      const source = save.paths.find((path) => path.startsWith('/tmp/'));
      if (rename === undefined || source === undefined) return [];
      const targets = textsOf(script, rename.to);
      if (targets.some((path) => path.startsWith('/tmp/')) || targets.every((path) => /^\{[^}]*\}$/.test(path))) return [];
      return [
        {
          at: rename.call.node,
          message: `${script.textOf(rename.from)} is below /tmp, on another file system than ${targets[0]}: this copies, or fails.`,
        },
      ];
    });
  },
};

/** A resume must find the emergency save. */
export const emergencyNeverLoaded: ScriptRule = {
  code: 'EMERGENCY_FILE_NEVER_LOADED',
  severity: 'error',
  on: 'script',
  title: 'No load reads the file that is saved in an emergency',
  why: 'On SIGTERM the script saves to one file, and the resume loads another one. The next attempt starts from the older checkpoint, and the emergency save is wasted.',
  fix: 'Save under the name that is loaded, or have the resume look for both and take the newer one.',
  bad: { script: LOOP('torch.save(state, "/runs/emergency.pt")').replace('if step % 1000 == 0', 'if stop_requested') },
  good: { script: LOOP(SAFE).replace('if step % 1000 == 0', 'if stop_requested') },
  check(script) {
    const loads = loadsOf(script);
    const loaded = loads.flatMap(({ paths }) => paths.map(baseName));
    const isNone = trainsHere(script) && !hasOwnSaving(script) && loadsNothing(script);
    if ((loads.length === 0 && !isNone) || loaded.some((name) => name === '' || !isKnown(name))) return [];
    if (/glob\(|listdir\(|scandir\(|iterdir\(/.test(script.text)) return [];
    const saved = savesOf(script).flatMap((save) => save.paths.map((path) => ({ name: finalName(script, save, path), save })));
    const lost = saved.find(
      ({ name }) => isKnown(name) && /emergency|preempt|interrupt|sigterm|crash|rescue/i.test(name) && !loaded.includes(name),
    );
    if (lost === undefined) return [];
    const at = placeOf(script, lost.save, lost.name);
    const read = isNone ? 'nothing in this file loads it' : `the resume loads only ${[...new Set(loaded)].join(', ')}`;
    return [{ at, message: `The emergency save writes ${lost.name}, but ${read}.` }];
  },
};

/** The name that a file has in the end, when it is renamed. */
function finalName(script: Script, save: FileCall, path: string): string {
  const rename = renameOf(script, save);
  if (rename === undefined) return baseName(path);
  const stem = baseName(path).replace(/\.[^.]*$/, '');
  return (
    textsOf(script, rename.to)
      .map(baseName)
      .find((name) => name.replace(/\.[^.]*$/, '') === stem || name === stem) ?? baseName(path)
  );
}

/** The call that names the file, where the save itself does not. */
function placeOf(script: Script, { call }: FileCall, name: string): PyNode {
  const stem = name.replace(/\.[^.]*$/, '');
  if (script.textOf(call.node).includes(stem) || call.fn === null) return call.node;
  return script.callsOf(call.fn).find((one) => script.textOf(one.node).includes(stem))?.node ?? call.node;
}

/** The old one is deleted before the new one is whole. */
export const deletesFirst: ScriptRule = {
  code: 'DELETES_BEFORE_SAVING',
  severity: 'error',
  on: 'script',
  title: 'The old checkpoint is deleted before the new one is whole',
  why: 'Between the deletion and the end of the save no checkpoint exists. An interruption in that time loses the whole training. Saves are also what fills a disk, so evictions come just then.',
  fix: 'Save first, sync and rename, and only then delete what is older.',
  bad: { script: LOOP('os.remove("/runs/latest.pt")\ntorch.save(state, "/runs/latest.pt")') },
  good: { script: LOOP(`${SAFE}\nos.remove("/runs/older.pt")`) },
  check(script) {
    const deletes = script.calls.filter(
      ({ callee, method, receiver }) =>
        /^(?:os\.(?:remove|unlink)|shutil\.rmtree)$/.test(callee) || (method === 'unlink' && receiver !== null),
    );
    return deletes.flatMap((call): Hit[] => {
      const what = call.args[0] ?? call.receiver;
      const save = savesOf(script).find(
        (one) =>
          one.call.fn === call.fn &&
          one.call.node.from > call.node.to &&
          statementList(one.call.node) !== null &&
          sharesBlock(call.node, one.call.node),
      );
      if (what == null || save === undefined) return [];
      const removed = textsOf(script, what);
      const isSame =
        removed.some((path) => save.paths.includes(path) && !/^\{[?]\}$/.test(path)) ||
        receiverText(script, call) === script.textOf(save.target);
      const isOlder = /prev|old|last|latest|ckpt|checkpoint/i.test(script.textOf(what)) && !/tmp|temp|best/i.test(script.textOf(what));
      // Behind a save of its own what is older may go.
      const isBehind = savesOf(script).some((one) => one.call.fn === call.fn && one.call.node.to <= call.node.from);
      if (isBehind || (!isSame && !isOlder) || !isRepeated(script, save.call.node)) return [];
      return [
        {
          at: call.node,
          message: `${script.textOf(what).slice(0, 60)} is deleted before the save below is whole: until then no checkpoint exists.`,
        },
      ];
    });
  },
};

function statementList(node: PyNode): PyNode | null {
  return statementOf(node).parent;
}

/** The save stands in a block around, or the same as, that of the deletion. */
function sharesBlock(first: PyNode, second: PyNode): boolean {
  const block = statementList(second);
  return block !== null && first.from >= block.from && first.to <= block.to;
}
