import { OP } from '../../../src/formats/encodings/pickle/opcodes.ts';
import type { Attack } from './attack.ts';
import { bytes, call, get, global, object, pickle, put, text, tuple } from './pickle-bytes.ts';
import { writeTorch } from './torch-files.ts';

/** `STACK_GLOBAL` over two strings that lie somewhere else. */
function stackGlobal(module: string, name: string): Buffer {
  const strings = Buffer.concat([text(module), put(1), bytes(OP.POP), text(name), put(2), bytes(OP.POP)]);
  return Buffer.concat([strings, get(1), get(2), bytes(OP.STACK_GLOBAL), tuple(text('id')), bytes(OP.REDUCE)]);
}

const CALLS: readonly (readonly [module: string, name: string])[] = [
  ['os', 'system'],
  ['posix', 'system'],
  ['nt', 'system'],
  ['builtins', 'eval'],
  ['__builtin__', 'eval'],
  ['builtins', 'exec'],
  ['builtins', 'getattr'],
  ['builtins', '__import__'],
  ['builtins', 'map'],
  ['subprocess', 'Popen'],
  ['subprocess', 'check_output'],
  ['operator', 'attrgetter'],
  ['operator', 'methodcaller'],
  ['importlib', 'import_module'],
  ['runpy', 'run_path'],
  ['pickle', 'loads'],
  ['marshal', 'loads'],
  ['types', 'FunctionType'],
  ['socket', 'create_connection'],
  ['shutil', 'rmtree'],
  ['ctypes', 'CDLL'],
  ['torch.hub', 'load'],
  ['torch', 'load'],
  ['torch.storage', '_load_from_bytes'],
  ['torch.evil', 'run'],
  ['torch.distributed.evil', 'run'],
  ['torchvision_evil', 'Run'],
  ['collectionsx', 'OrderedDict'],
  ['collections.os', 'system'],
  ['collections', 'os.system'],
  ['collections', 'OrderedDict.__init__.__globals__'],
  ['torch', 'nn.functional.os.system'],
  ['torch._utils', 'torch.os.system'],
  ['numpy', 'testing.run'],
  ['numpy.testing._private.utils', 'runstring'],
  ['transformers.utils', 'os.system'],
  ['transformers.evil', 'Popen'],
  ['torch.distributed.distributed_c10d', 'FileStore'],
  ['torch.distributed.rendezvous', 'TCPStore'],
  ['transformers.utils.hub', 'Repository'],
  ['lightning.fabric.loggers', 'GzipFile'],
  ['constructor', 'prototype'],
  ['__proto__', 'x'],
  ['toString', 'call'],
  ['', ''],
  ['\u001b[2J', '\u202eevil'],
];

function unsafe(name: string, body: () => Buffer): Attack {
  return { name, exit: 4, codes: [], options: ['--strict'], write: (path) => writeTorch(path, pickle(body())) };
}

/**
 * Pickles whose load would do something; each must be told as unsafe, whatever else is wrong with
 * it.
 */
export const UNSAFE_PICKLES: readonly Attack[] = [
  ...CALLS.flatMap(([module, name]) => [
    unsafe(`a call of ${JSON.stringify(module)} ${JSON.stringify(name)}`, () => call(module, name, text('id'))),
    unsafe(`the same from the stack: ${JSON.stringify(module)} ${JSON.stringify(name)}`, () => stackGlobal(module, name)),
  ]),
  unsafe('a chain of calls', () =>
    Buffer.concat([
      call('collections', 'OrderedDict'),
      ...Array.from({ length: 1000 }, () => Buffer.concat([bytes(OP.EMPTY_TUPLE, OP.REDUCE)])),
    ]),
  ),
  unsafe('a name that a call works out', () =>
    Buffer.concat([text('os'), call('builtins', 'str', text('system')), bytes(OP.STACK_GLOBAL, OP.EMPTY_TUPLE, OP.REDUCE)]),
  ),
  unsafe('an object of the old kind', () => Buffer.concat([bytes(OP.MARK), text('id'), bytes(OP.INST), Buffer.from('os\nsystem\n')])),
  unsafe('an object with a class on the stack', () => Buffer.concat([bytes(OP.MARK), global('os', 'system'), text('id'), bytes(OP.OBJ)])),
  unsafe('a state set on what was imported', () => Buffer.concat([global('torch', 'nn'), bytes(OP.EMPTY_DICT, OP.BUILD)])),
  unsafe('a number whose meaning only the loader knows', () => Buffer.concat([bytes(OP.EXT1, 7, OP.EMPTY_TUPLE, OP.REDUCE)])),
  unsafe('a class of a framework with arguments of its own', () =>
    call('transformers.training_args', 'TrainingArguments', text('a'), text('b')),
  ),
  unsafe('an import alone, thrown away', () => Buffer.concat([global('os', 'system'), bytes(OP.POP, OP.NONE)])),
  unsafe('a call before the pickle breaks off', () => Buffer.concat([call('os', 'system', text('id')), bytes(OP.POP, 0xff)])),
  unsafe('a dangerous call hidden in an attribute', () => object('argparse', 'Namespace', call('os', 'system', text('id')))),
];
