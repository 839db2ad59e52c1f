import { lstatSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { HoldfastError, systemCode } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { readRegularFile } from '../../core/read-regular.ts';
import { DUMP_LIMITS, type DumpProblem } from './dump-limits.ts';
import type { KubeObject } from './object.ts';
import { parseDocuments } from './parse-documents.ts';

/** The objects of the given files and folders, and the problems. */
export interface Dump {
  readonly objects: readonly KubeObject[];
  readonly problems: readonly DumpProblem[];
  readonly files: number;
}

/**
 * The endings of files with objects. A folder of `kubectl cluster-info dump` also contains logs.
 */
const OBJECT_FILE = /\.(json|ya?ml)$/i;
const DEEPEST = 12;

/**
 * Reads files (JSON or YAML, with any name; `-` is the text of standard input) and folders (all
 * their files with these endings, at any depth, without following links). A missing path is an
 * error; an unreadable part inside is a problem in the result.
 */
export function readDump(paths: readonly string[], standardInput: string): Dump {
  const dump: { objects: KubeObject[]; problems: DumpProblem[]; files: number; bytes: number } = {
    objects: [],
    problems: [],
    files: 0,
    bytes: 0,
  };
  const add = (text: string, source: string): void => {
    const { objects, problems } = parseDocuments(text, source);
    for (const object of objects) dump.objects.push(object);
    dump.problems.push(...problems);
    dump.files += 1;
  };
  for (const path of paths) {
    if (path === '-') add(standardInput, 'standard input');
    else {
      for (const file of filesOf(path, dump.problems)) {
        const bytes = bytesOf(file, path, dump.problems, DUMP_LIMITS.totalBytes - dump.bytes);
        if (bytes === null) continue;
        dump.bytes += bytes.length;
        add(bytes.toString('utf8'), file);
      }
    }
  }
  return { objects: newest(dump.objects), problems: dump.problems, files: dump.files };
}

function filesOf(path: string, problems: DumpProblem[]): readonly string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
  } catch (thrown) {
    throw notReadable(path, thrown);
  }
  const files: string[] = [];
  walk(path, 0, files, problems);
  return files;
}

function walk(folder: string, depth: number, files: string[], problems: DumpProblem[]): void {
  let names: readonly string[];
  try {
    names = readdirSync(folder).sort();
  } catch (thrown) {
    return void problems.push(problemOf(folder, `the folder cannot be listed: ${systemCode(thrown) ?? 'unknown'}`));
  }
  for (const name of names) {
    if (files.length >= DUMP_LIMITS.files)
      return void problems.push(problemOf(folder, `more than ${DUMP_LIMITS.files} files; the others are left out`));
    const path = join(folder, name);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats?.isDirectory() === true && depth < DEEPEST) walk(path, depth + 1, files, problems);
    else if (stats?.isFile() === true && OBJECT_FILE.test(name)) files.push(path);
  }
}

function bytesOf(file: string, given: string, problems: DumpProblem[], left: number): Buffer | null {
  const most = Math.min(DUMP_LIMITS.fileBytes, left);
  try {
    return readRegularFile(file, most);
  } catch (thrown) {
    if (file === given && systemCode(thrown) !== 'EFBIG') throw notReadable(file, thrown);
    const isLong = systemCode(thrown) === 'EFBIG';
    problems.push(
      problemOf(
        file,
        isLong ? `it is longer than the ${most} bytes that are read` : `it cannot be read: ${systemCode(thrown) ?? 'unknown'}`,
      ),
    );
    return null;
  }
}

/** Keeps the newest state of an object that was read twice. */
function newest(objects: readonly KubeObject[]): readonly KubeObject[] {
  const byIdentity = new Map<string, KubeObject>();
  for (const object of objects) byIdentity.set(`${object.kind}/${object.namespace ?? ''}/${object.name}/${object.uid ?? ''}`, object);
  return byIdentity.size === objects.length ? objects : [...byIdentity.values()];
}

function problemOf(source: string, reason: string): DumpProblem {
  return { source, line: null, column: null, reason };
}

function notReadable(path: string, thrown: unknown): HoldfastError {
  const code = systemCode(thrown) ?? 'unknown';
  if (code === 'ENOENT') {
    return new HoldfastError('PATH_NOT_FOUND', {
      message: `${printable(path)} does not exist`,
      hint: 'Give a file or a folder of manifests or of a dump. A pod or a Job of a cluster is kind/name: pod/train-0.',
    });
  }
  if (code === 'EFTYPE') {
    return new HoldfastError('PATH_NOT_SUPPORTED', { message: `${printable(path)} is neither a file nor a folder` });
  }
  return new HoldfastError('PATH_NOT_READABLE', { message: `${printable(path)} cannot be read: ${code}`, cause: thrown });
}
