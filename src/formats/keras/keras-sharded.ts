import { excerpt, printable } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import { isArray, isObject, type JsonObject, parseJson } from '../../core/json.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { naturalOrder } from '../../bytes/source/natural-order.ts';
import type { FileSet, FileSetFormat } from '../reading/format.ts';

const INDEX = /^(.+)\.weights\.json$/;
const SHARD = /^(.+)_\d{5}\.weights\.h5$/;

/** Keras weights in several HDF5 files, with an index that says which holds what. */
export const kerasSharded: FileSetFormat = {
  id: 'keras-sharded',
  title: 'Keras weights (sharded)',

  claim(directory) {
    const members = new Map<string, string[]>();
    for (const { name, kind } of directory.entries.values()) {
      const stem = kind === 'directory' ? undefined : (INDEX.exec(name)?.[1] ?? SHARD.exec(name)?.[1]);
      if (stem === undefined) continue;
      const names = members.get(stem);
      if (names === undefined) members.set(stem, [name]);
      else names.push(name);
    }
    return [...members].map(([name, names]): FileSet => ({ name, members: names.sort(naturalOrder) }));
  },

  inspect(set, directory, findings, probe) {
    const index = `${set.name}.weights.json`;
    const named = shardsNamed(index, directory, findings);
    for (const shard of named) findings.merge(probe.inspectFile(directory, shard, ['hdf5']).findings);
    if (named.size === 0) return;
    for (const member of set.members) {
      if (member === index || named.has(member)) continue;
      const file = directory.pathOf(member);
      findings.add('KERAS_SHARD_UNUSED', { file }, `${printable(file)} is not in the index: it is left from a save with more shards`);
    }
  },
};

/** The shards that the index names; empty, with evidence, when it names none. */
function shardsNamed(index: string, directory: Directory, findings: Findings): ReadonlySet<string> {
  const file = directory.pathOf(index);
  const text = directory.readText(index);
  if (text === null) {
    findings.add('FILE_MISSING', { file }, `${printable(file)} is missing: nothing says which shard holds what`);
    return new Set();
  }
  const parsed = parseJson(text);
  const map = parsed.ok && isObject(parsed.value) ? parsed.value['weight_map'] : null;
  const names = isObject(map ?? undefined) ? namesIn(map as JsonObject) : null;
  if (names !== null && names.size > 0) return names;
  const code = !parsed.ok && parsed.limit ? 'LIMIT_EXCEEDED' : 'DOCUMENT_INVALID';
  findings.add(code, { file, found: excerpt(text, 40) }, `${printable(file)} does not name the shards of the weights`);
  return new Set();
}

function namesIn(map: JsonObject): ReadonlySet<string> {
  const names = new Set<string>();
  for (const shards of Object.values(map)) {
    for (const shard of isArray(shards) ? shards : [shards]) if (typeof shard === 'string') names.add(shard);
  }
  return names;
}
