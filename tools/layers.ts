/** A line of folders that do not import each other. */
type Line = readonly string[];

/** The folders of `src/`, from top to bottom. A folder imports only from lines below its own. */
export const LAYERS: readonly Line[] = [
  ['binary'],
  ['cli', 'dashboard'],
  ['demo', 'drill', 'why', 'whatif', 'lint', 'grace', 'plan'],
  ['operator', 'queue', 'supervisor'],
  ['remote'],
  ['store'],
  ['verify'],
  ['formats'],
  ['bytes'],
  ['seal'],
  ['evidence'],
  ['scheduler'],
  ['kube'],
  ['volumes'],
  ['ledger'],
  ['domain'],
  ['core'],
];

/**
 * The order of the folders inside a folder; `.` stands for the files directly in it. A folder of
 * `src` that is missing here has no folders inside.
 */
export const ROOMS: Readonly<Record<string, readonly Line[]>> = {
  cli: [['.'], ['commands'], ['store', 'remote', 'cluster', 'inputs'], ['frame'], ['output']],
  supervisor: [
    ['run'],
    ['status'],
    ['attempt'],
    ['ending'],
    ['hang', 'watch'],
    ['shipping', 'session'],
    ['saves'],
    ['nodes'],
    ['sdk', 'notices'],
    ['process'],
    ['base'],
    ['settings'],
  ],
  operator: [['run', 'install'], ['room'], ['observed'], ['reconcile'], ['training-run', 'status', 'supervision'], ['kinds']],
  queue: [['server', 'work', 'pods'], ['backends', 'client'], ['.']],
  lint: [['adopt'], ['.'], ['rules'], ['engine'], ['manifest', 'script'], ['source']],
  why: [['.'], ['rules'], ['facts']],
  whatif: [['apply', 'audit', 'nodes'], ['drawing', 'loss'], ['world'], ['gangs', 'snapshot']],
  remote: [['copy', 'fetch', 'probe'], ['pointer'], ['backends'], ['credentials'], ['http'], ['transfer', 'claim']],
  store: [['adopt'], ['commit'], ['retention'], ['resume'], ['trash'], ['attempt'], ['folder'], ['disk']],
  verify: [['.'], ['deep']],
  formats: [
    ['.'],
    ['composer', 'lightning', 'huggingface', 'deepspeed', 'megatron', 'orbax', 'keras', 'flax', 'torchsnapshot'],
    ['dcp', 'tensorflow', 'hdf5', 'gguf', 'numpy'],
    ['safetensors'],
    ['torch'],
    ['encodings'],
    ['reading'],
  ],
  bytes: [['hashing'], ['source'], ['.']],
  evidence: [['.'], ['codes']],
  kube: [['control'], ['watch'], ['client', 'memory'], ['api'], ['objects']],
  scheduler: [['.'], ['preempt', 'evict'], ['place'], ['score'], ['filter'], ['cluster'], ['objects']],
  domain: [['gang'], ['exit', 'hang', 'restart', 'causes', 'queue', 'sweep'], ['grace'], ['cadence']],
};

/** Imports that the order allows and that are refused anyway, each with the reason. */
export const REFUSED: readonly { readonly from: string; readonly to: string; readonly because: string }[] = [
  { from: 'supervisor', to: 'kube', because: 'the supervisor runs in every training container and stays small: no Kubernetes client' },
];
