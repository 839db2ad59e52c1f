import { excerpt } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import { asItems, dictEntries, dictGet, type PickleValue } from '../encodings/pickle/value.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import type { Probe } from '../reading/format.ts';
import { folders, membersNamed } from '../reading/members.ts';
import { readObject } from '../torch/torch-member.ts';

/** Written last, with what all parameters share. */
const COMMON = 'optimizer_state.pt';
const WEIGHTS = 'fp32.pt';
/** More kinds of state than any optimizer keeps for a parameter. */
const MOST_FILES = 64;

/**
 * Where a universal checkpoint keeps the state of every parameter, in a folder of its own; null for
 * other checkpoints.
 */
export function universalFolder(directory: Directory): Directory | null {
  return directory.directory('zero');
}

/** The parameters that the model states name. */
export function* parameterNames(value: PickleValue | undefined): Generator<string> {
  for (const group of new Set(asItems(dictGet(value, 'param_shapes')))) for (const [name] of dictEntries(group)) yield name;
}

/**
 * Inspects the state of every parameter: all of `parameters` are there, each with the same files.
 */
export function inspectUniversal(zero: Directory, parameters: ReadonlySet<string>, findings: Findings, probe: Probe): void {
  const ofParameters = new Map<string, ReadonlySet<string>>();
  for (const folder of folders(zero)) {
    const names = membersNamed(folder, /\.pt$/).map(({ name }) => name);
    for (const name of names) readObject(folder, name, findings, probe);
    ofParameters.set(folder.name, new Set(names));
  }
  const files = filesOfEach(ofParameters.values());
  for (const parameter of new Set([...ofParameters.keys(), ...parameters])) {
    const present = ofParameters.get(parameter);
    for (const name of present === undefined ? [WEIGHTS] : files) {
      if (present?.has(name) === true) continue;
      const file = zero.pathOf(`${excerpt(parameter, 200)}/${excerpt(name)}`);
      findings.add('FILE_MISSING', { file }, `${excerpt(name)} of the parameter ${excerpt(parameter)} is missing, which the others have`);
    }
  }
  findings.content.add('weights', zero.path);
  if (files.size > 1) findings.content.add('optimizer', zero.path);
  if (zero.has(COMMON)) readObject(zero, COMMON, findings, probe);
  else
    findings.add('FILE_MISSING', { file: zero.pathOf(COMMON) }, `${COMMON} is missing: it is written last, so the conversion did not end`);
}

/** Every kind of file that some parameter has. */
function filesOfEach(ofParameters: Iterable<ReadonlySet<string>>): ReadonlySet<string> {
  const files = new Set([WEIGHTS]);
  for (const names of ofParameters) {
    for (const name of names) {
      if (files.size >= MOST_FILES) return files;
      files.add(name);
    }
  }
  return files;
}
