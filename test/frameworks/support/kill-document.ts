import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Kill, WholeSave } from './kill-run.ts';
import type { SparseTail } from './largest-file.ts';
import { FRAMEWORKS } from './python.ts';

export interface KillRow {
  readonly writer: string;
  readonly ranks: number;
  readonly whole: WholeSave;
  readonly kills: readonly Kill[];
  readonly sparse: SparseTail;
}

/** Writes docs/kill-matrix.md. */
export function writeKillMatrix(rows: readonly KillRow[], seed: number): void {
  writeFileSync(join(FRAMEWORKS, '..', '..', 'docs', 'kill-matrix.md'), killMatrix(rows, seed));
}

function killMatrix(rows: readonly KillRow[], seed: number): string {
  const killed = rows.flatMap(({ kills }) => kills);
  const incomplete = killed.filter(({ isComplete }) => !isComplete);
  return `# Saves killed in the middle

Each writer below saved a state of 20 to 60 MiB again and again and was ended by SIGKILL at a random moment of the save (seed ${seed}).
Afterwards \`holdfast verify\` looked at what was left. Whether a save was complete is not for \`verify\` to say here: the call had
returned before the kill, or the framework's own loader reads the right values from what it left.

**${killed.length} kills, ${incomplete.length} of them in an unfinished save. Not one of these was called \`RESUMABLE\`, \`UNCHECKED\`, or, where only weights are
saved, \`WEIGHTS_ONLY\`.** Every complete one got the verdict of an undisturbed save.

Of savers with two ranks, sometimes both are killed and sometimes one.

| Writer | Whole save: quick, deep | Time of a save | Kills | Unfinished | What \`verify\` says of the unfinished ones |
|---|---|--:|--:|--:|---|
${rows.map(killRow).join('\n')}

## Half of the largest file never written

The second half of the largest file of a whole save is replaced by a hole, as a crash leaves it when the size reached the disk and
the data did not. *silent* means that the framework's loader returns wrong values without an error.

| Writer | File | The loader | quick | deep |
|---|---|---|---|---|
${rows.map(({ writer, sparse }) => `| ${writer} | ${shown(sparse.file)} | ${sparse.loader === 'silent' ? '**silent**' : sparse.loader} | ${sparse.quick} | ${sparse.deep} |`).join('\n')}

Made by \`UPDATE_DOCS=1 npm run test:frameworks\`.
`;
}

function killRow({ writer, ranks, whole, kills }: KillRow): string {
  const unfinished = kills.filter(({ isComplete }) => !isComplete);
  const counts = new Map<string, number>();
  for (const { quick } of unfinished) {
    const said = quick.length === 0 ? 'no checkpoint' : quick.join(' and ');
    counts.set(said, (counts.get(said) ?? 0) + 1);
  }
  const said = [...counts].sort(([, a], [, b]) => b - a).map(([verdict, count]) => `${count} × ${verdict}`);
  const name = ranks === 1 ? writer : `${writer} (${ranks} ranks)`;
  const time = `${Math.round(whole.seconds * 1000)} ms`;
  return `| ${name} | ${whole.quick}, ${whole.deep} | ${time} | ${kills.length} | ${unfinished.length} | ${said.join(', ')} |`;
}

/** Long names of content-addressed files say nothing. */
function shown(file: string): string {
  return `\`${file.replace(/[0-9a-f]{24,}/, (hash) => `${hash.slice(0, 8)}…`)}\``;
}
