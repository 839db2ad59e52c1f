import { execFileSync } from 'node:child_process';
import { closeSync, ftruncateSync, linkSync, mkdirSync, openSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { OP } from '../../../src/formats/encodings/pickle/opcodes.ts';
import type { Attack } from './attack.ts';
import { bytes, pickle } from './pickle-bytes.ts';
import { torchFile } from './torch-files.ts';

/** Makes a folder with many names for one small file: links are quick to make. */
function names(path: string, count: number, nameOf: (index: number) => string, content: Buffer): void {
  mkdirSync(path);
  // File systems allow some ten thousand names for one file.
  for (let index = 0; index < count; index++) {
    const target = join(path, nameOf(index - (index % 30_000)));
    if (index % 30_000 === 0) writeFileSync(target, content);
    else linkSync(target, join(path, nameOf(index)));
  }
}

function long(index: number, suffix = ''): string {
  return `${String(index).padStart(6, '0')}${'n'.repeat(249 - suffix.length)}${suffix}`;
}

const TINY = torchFile(pickle(bytes(OP.NONE)));

function trainer(path: string): void {
  mkdirSync(path);
  writeFileSync(join(path, 'trainer_state.json'), '{"global_step": 5}');
}

export const TREE_ATTACKS: readonly Attack[] = [
  {
    name: 'a hundred thousand long names',
    write: (path) => names(path, 101_000, (i) => long(i), Buffer.from('x')),
    exit: 3,
    codes: ['LIMIT_EXCEEDED'],
  },
  {
    name: 'eleven thousand torch files',
    write: (path) => names(path, 11_000, (i) => `step-${i}.pt`, TINY),
    isAlone: true,
    exit: 1,
    codes: ['LIMIT_EXCEEDED'],
  },
  {
    name: 'eleven thousand broken files',
    write: (path) => names(path, 11_000, (i) => `${i}.pt`, Buffer.from('PK\x03\x04 nothing')),
    isAlone: true,
    exit: 1,
    codes: ['LIMIT_EXCEEDED'],
  },
  {
    name: 'eight thousand random states',
    write: (path) => names(path, 8_000, (i) => `random_states_${i}.pkl`, TINY),
    exit: 1,
    codes: [],
  },
  {
    name: 'forty thousand shards of Keras',
    write: (path) => names(path, 40_000, (i) => `m_${String(i).padStart(5, '0')}.weights.h5`, Buffer.from('x')),
    exit: 1,
    codes: [],
  },
  {
    name: 'twenty thousand sets of TensorFlow and what is left of others',
    write: (path) => names(path, 20_000, (i) => (i % 2 === 0 ? `c${i}.data-00000-of-00001` : `d${i}.index.tempstate1`), Buffer.from('x')),
    isAlone: true,
    exit: 1,
    codes: [],
  },
  {
    name: 'twelve thousand rank files',
    write: (path) => names(path, 12_000, (i) => long(i, `rank_${i}.pt`), TINY),
    isAlone: true,
    exit: 1,
    codes: [],
  },
  {
    name: 'folders four thousand deep',
    write(path) {
      mkdirSync(path);
      // Longer than a path may be, so it is made step by step.
      const step = `for (let i = 0; i < 4000; i++) { fs.mkdirSync('d'); process.chdir('d'); }`;
      execFileSync(process.execPath, ['-e', step], { cwd: path });
    },
    exit: 3,
    codes: ['LIMIT_EXCEEDED'],
  },
  {
    name: 'links out of the folder, to devices, in circles',
    write(path) {
      trainer(path);
      writeFileSync(join(dirname(path), `${basename(path)}-outside`), TINY);
      symlinkSync(`../${basename(path)}-outside`, join(path, 'optimizer.pt'));
      symlinkSync('/dev/zero', join(path, 'scheduler.pt'));
      symlinkSync('rng_state.pth', join(path, 'rng_state.pth'));
      symlinkSync('/etc', join(path, 'global_step5'));
      symlinkSync('.', join(path, 'optimizer_0'));
      execFileSync('mkfifo', [join(path, 'model.safetensors')]);
      mkdirSync(join(path, 'training_args.bin'));
    },
    exit: 1,
    codes: ['FILE_LINK_OUTSIDE', 'FILE_LINK_BROKEN', 'FILE_NOT_REGULAR'],
  },
  {
    name: 'names that are not text',
    write(path) {
      mkdirSync(path);
      for (const name of [
        '\xff.index',
        '\xfe.pt',
        '\xfd.safetensors',
        'latest\xfc',
        '\xfb-00001-of-00002.safetensors',
        '\xfa.weights.json',
      ]) {
        writeFileSync(Buffer.concat([Buffer.from(`${path}/`), Buffer.from(name, 'latin1')]), 'x');
      }
      mkdirSync(Buffer.concat([Buffer.from(`${path}/`), Buffer.from('\xf9', 'latin1')]));
    },
    exit: 1,
    codes: ['FILE_NOT_READABLE'],
  },
  {
    name: 'names that a terminal would obey',
    write(path) {
      mkdirSync(path);
      for (const name of [
        '\u001b[2J.pt',
        'new\nline.pt',
        'csi\u009b31m.pt',
        'rtl\u202etp.tp.pt',
        'alm\u061c.pt',
        'tag\u{e0041}.pt',
        'tab\t\u0007.pt',
      ]) {
        writeFileSync(join(path, name), TINY);
      }
      mkdirSync(join(path, '\u001b]0;title\u0007.tmp'));
      writeFileSync(join(path, 'latest'), '\u001b[31m\u009b\u202e');
    },
    exit: 1,
    codes: [],
  },
  {
    name: 'a file of eight pebibytes',
    write(path) {
      const file = openSync(path, 'w');
      ftruncateSync(file, Number.MAX_SAFE_INTEGER);
      closeSync(file);
    },
    exit: 1,
    codes: [],
    options: ['--deep'],
  },
  {
    name: 'trackers in five thousand folders',
    write(path) {
      mkdirSync(path);
      for (let i = 0; i < 5_000; i++) {
        mkdirSync(join(path, `f${i}`));
        writeFileSync(join(path, `f${i}`, 'latest'), 'x');
      }
    },
    exit: 3,
    codes: ['TRACKER_TARGET_MISSING'],
  },
  {
    name: 'a tracker of a million lines',
    write(path) {
      mkdirSync(path);
      writeFileSync(join(path, 'checkpoint'), `${'\n'.repeat(1_000_000)}model_checkpoint_path`);
    },
    exit: 3,
    codes: [],
  },
];
