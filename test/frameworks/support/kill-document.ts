import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { wrap } from '../../../src/cli/output/table.ts';
import type { Kill, WholeSave } from './kill-run.ts';
import type { SparseTail } from './largest-file.ts';
import { FRAMEWORKS } from './python.ts';

/** Markdown wraps here; tables are excepted. */
const COLUMNS = 100;

export interface KillRow {
  readonly writer: string;
  readonly ranks: number;
  readonly whole: WholeSave;
  readonly kills: readonly Kill[];
  readonly sparse: SparseTail;
}

/** Writes docs/proofs/kill-matrix.md. */
export function writeKillMatrix(rows: readonly KillRow[], seed: number): void {
  writeFileSync(join(FRAMEWORKS, '..', '..', 'docs', 'proofs', 'kill-matrix.md'), killMatrix(rows, seed));
}

function killMatrix(rows: readonly KillRow[], seed: number): string {
  const killed = rows.flatMap(({ kills }) => kills);
  const incomplete = killed.filter(({ isComplete }) => !isComplete);
  return `# Saves killed in the middle

${wrap(`**Of ${killed.length} kills, ${incomplete.length} hit an unfinished save. \`verify\` called none of these \`RESUMABLE\`, \`UNCHECKED\` or, where only weights are saved, \`WEIGHTS_ONLY\`.** Every complete save got the verdict of an undisturbed one.`, COLUMNS).join('\n')}

Each writer below saved a state of 20 to 60 MiB again and again, until SIGKILL ended it at a random
moment of a save (seed ${seed}). Then \`holdfast verify\` looked at what was left. We do not ask \`verify\`
whether a save was complete. It was complete if the call had returned before the kill, or if the
framework's own loader reads the right values. With two ranks we kill sometimes both and sometimes
one.

| Writer | Whole save: quick, deep | Time of a save | Kills | Unfinished | What \`verify\` says about the unfinished ones |
|---|---|--:|--:|--:|---|
${rows.map(killRow).join('\n')}

## Half of the largest file never written

We replace the second half of the largest file of a whole save by a hole. A crash leaves such a file
when the size reached the disk and the data did not. *silent* means that the framework's loader
returns wrong values without an error.

| Writer | File | The loader | quick | deep |
|---|---|---|---|---|
${rows.map(({ writer, sparse }) => `| ${writer} | ${shown(sparse.file)} | ${sparse.loader === 'silent' ? '**silent**' : sparse.loader} | ${sparse.quick} | ${sparse.deep} |`).join('\n')}

\`UPDATE_DOCS=1 npm run test:frameworks\` makes this page again.
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
