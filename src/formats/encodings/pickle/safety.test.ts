import { describe, expect, it } from 'vitest';
import { Findings } from '../../reading/findings.ts';
import { memorySource } from '../../../bytes/source/byte-source.ts';
import type { Use } from './global-register.ts';
import { reportPickle } from './report-walk.ts';
import { judgeGlobal } from './safety.ts';
import { walkPickle } from './walk.ts';

function judge(module: string, name: string, use: Use = 'call'): string | null {
  return judgeGlobal({ global: { kind: 'global', module, name, offset: 0 }, use });
}

function report(text: string): Findings {
  const findings = new Findings();
  const source = memorySource(Buffer.from(text, 'latin1'), 'a.pkl', 100);
  reportPickle(walkPickle(source), source, findings);
  return findings;
}

describe('the list of names a load may import', () => {
  it.each([
    ['torch._utils', '_rebuild_tensor_v2'],
    ['torch', 'FloatStorage'],
    ['torch', 'float8_e4m3fn'],
    ['torch.storage', 'UntypedStorage'],
    ['collections', 'OrderedDict'],
    ['numpy.core.multiarray', '_reconstruct'],
    ['numpy._core.multiarray', 'scalar'],
    ['argparse', 'Namespace'],
    ['__builtin__', 'set'],
    ['copy_reg', '_reconstructor'],
    ['pathlib', 'PosixPath'],
    ['torch.distributed.checkpoint.metadata', 'MetadataIndex'],
  ])('allows %s.%s', (module, name) => {
    expect(judge(module, name)).toBeNull();
  });

  it.each([
    ['os', 'system', 'starts programs'],
    ['posix', 'system', 'starts programs'],
    ['subprocess', 'Popen', 'starts programs'],
    ['builtins', 'eval', 'runs code'],
    ['__builtin__', 'exec', 'runs code'],
    ['builtins', 'getattr', 'any function by its name'],
    ['operator', 'attrgetter', 'any function by its name'],
    ['builtins', 'open', 'files'],
    ['socket', 'create_connection', 'network'],
    ['pickle', 'loads', 'another pickle'],
    ['torch.storage', '_load_from_bytes', 'another pickle'],
    ['importlib', 'import_module', 'runs code'],
    ['numpy.testing._private.utils', 'runstring', 'runs code'],
    ['torch', 'os.system', 'starts programs'],
    ['transformers.utils.hub', 'os.system', 'starts programs'],
    ['collections', 'abc.sys.modules', 'any function by its name'],
  ])('names the danger of %s.%s', (module, name, danger) => {
    expect(judge(module, name)).toContain(danger);
    expect(judge(module, name, 'reference')).toContain(danger);
  });

  it('allows framework classes built from attributes, and refuses calls of them with other arguments', () => {
    expect(judge('transformers.training_args', 'TrainingArguments', 'new')).toBeNull();
    expect(judge('transformers.trainer_utils', 'IntervalStrategy', 'value')).toBeNull();
    expect(judge('transformers.training_args', 'TrainingArguments', 'call')).not.toBeNull();
    expect(judge('transformers.utils.hub', 'cached_file', 'call')).not.toBeNull();
    expect(judge('deepspeed.launcher.runner', 'Popen', 'value')).not.toBeNull();
    expect(judge('transformers.nested', 'Outer.Inner', 'new')).not.toBeNull();
    expect(judge('transformersx.evil', 'Class', 'new')).not.toBeNull();
  });

  it('refuses names that every JavaScript object has', () => {
    for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
      expect(judge(name, name)).not.toBeNull();
      expect(judge('torch', name)).not.toBeNull();
      expect(judge('builtins', name)).not.toBeNull();
    }
  });
});

describe('the report on a pickle', () => {
  it('distinguishes a call, an object and an import', () => {
    expect(report('cos\nsystem\n)R.').evidence[0]?.message).toMatch(/^loading would call os\.system, which starts programs/);
    expect(report('cmy.code\nConfig\n)\x81.').evidence[0]?.message).toMatch(/^loading would make an object of my\.code\.Config/);
    expect(report('cmy.code\nConfig\n.').evidence[0]?.message).toMatch(/^loading would import my\.code\.Config/);
  });

  it('gives offsets in the file and lists every name, including harmless ones', () => {
    const { globals, evidence } = report('ccollections\nOrderedDict\n)R0cos\nsystem\n)R.');
    expect([...globals.keys()]).toEqual(['collections.OrderedDict', 'os.system']);
    expect(evidence).toMatchObject([{ code: 'PICKLE_UNSAFE_GLOBAL', effect: 'security', offset: 140, found: 'os.system' }]);
  });

  it('escapes terminal control characters', () => {
    expect(report('cevil\x1b[2J\nname\n.').evidence[0]?.message).toContain('evil\\x1b[2J.name');
  });

  it('reports calls without a name, and changes to an imported object', () => {
    expect(report('cfunctools\npartial\n)R)R.').evidence.map(({ code }) => code)).toEqual(['PICKLE_COMPUTED_CALL']);
    expect(report('ctorch\nTensor\n}b.').evidence.map(({ code }) => code)).toEqual(['PICKLE_COMPUTED_CALL']);
  });
});
