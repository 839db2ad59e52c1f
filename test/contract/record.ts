import { collectContract } from './collect.ts';
import { differenceOf } from './compare.ts';
import { changesSince, readGolden, writeGolden } from './golden.ts';
import { readPython, whyNoPython } from './python.ts';

/**
 * `npm run contract:record` adds new entries to golden.json. It refuses if a recorded entry is gone
 * or changed, because that breaks users' programs. Only `--break` records it.
 */
const golden = readGolden();
const present = await collectContract();
const reason = await whyNoPython();
if (reason !== null) console.error(`what the Python package offers stays as it was recorded: ${reason}`);
const python = reason === null ? await readPython() : golden.python;
const changes = [changesSince(golden, present), differenceOf(golden.python, python)];
const lost = changes.flatMap((one) => one.lost);
const added = changes.flatMap((one) => one.added);
for (const line of lost) console.error(`- ${line}`);
for (const line of added) console.log(`+ ${line}`);
if (lost.length > 0 && !process.argv.includes('--break')) {
  console.error('nothing was recorded: programs depend on the lines above; --break records all the same');
  process.exitCode = 1;
} else {
  writeGolden(golden, present, python);
  console.log(`recorded ${added.length} new and ${lost.length} changed lines`);
}
