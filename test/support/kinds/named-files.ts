import { writeFileSync } from 'node:fs';

/** A command line that names a file. */
export interface Naming {
  readonly line: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The test's folders, and addresses at which no server answers. */
export interface NamingWorld {
  readonly folder: string;
  /** A port with a server that speaks no protocol. */
  readonly taken: number;
}

const ROLE = { AWS_ROLE_ARN: 'arn:aws:iam::1:role/r', AWS_ENDPOINT_URL_STS: 'http://127.0.0.1:1' };
const CONTAINER = { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://127.0.0.1:1/credentials' };
const KEYS = { AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE', AWS_SECRET_ACCESS_KEY: 'example-of-a-secret' };

/** Every option, operand and variable that names a file outside the folder of a run. */
export const NAMED: Readonly<Record<string, (path: string, world: NamingWorld) => Naming>> = {
  'lint PATH': (path) => ({ line: ['lint', path] }),
  'adopt --file': (path) => ({ line: ['adopt', '-f', path] }),
  'why --file': (path) => ({ line: ['why', '-f', path] }),
  'why PATH': (path) => ({ line: ['why', path] }),
  'why --run': (path) => ({ line: ['why', '--run', path] }),
  'why --kubeconfig': (path) => ({ line: ['why', '--kubeconfig', path, 'pod/train-0'] }),
  'grace TARGET': (path, { folder }) => ({ line: ['grace', '-f', `${folder}/..`, path] }),
  'grace --file': (path) => ({ line: ['grace', '-f', path] }),
  'grace --kubelet': (path) => ({ line: ['grace', '--kubelet', path, '--save=1s', '-f', path] }),
  'grace --kubeconfig': (path) => ({ line: ['grace', '--kubeconfig', path, 'pod/train-0'] }),
  'grace --run': (path) => ({ line: ['grace', '--run', path, '-f', path] }),
  'token-file of a kubeconfig': (path, world) => kubeconfig(world, { 'token-file': path }),
  'tokenFile of a kubeconfig': (path, world) => kubeconfig(world, { 'auth-provider': { name: 'tokenFile', config: { tokenFile: path } } }),
  'client-certificate of a kubeconfig': (path, world) => kubeconfig(world, { 'client-certificate': path, 'client-key': path }),
  'a file in a folder, for lint': (path) => ({ line: ['lint', `${path}/..`] }),
  'a file in a folder, for why': (path) => ({ line: ['why', '-f', `${path}/..`] }),
  'whatif apply --file': (path, { folder }) => ({ line: ['whatif', 'apply', '-f', path, '--snapshot', folder] }),
  'whatif apply --kubeconfig': (path, { folder }) => ({ line: ['whatif', 'apply', '-f', folder, '--kubeconfig', path] }),
  'whatif audit --snapshot': (path) => ({ line: ['whatif', 'audit', '--snapshot', path] }),
  'whatif pressure --stats': (path, { folder }) => ({ line: ['whatif', 'pressure', 'node', '--snapshot', folder, '--stats', path] }),
  'operator run --kubeconfig': (path) => ({ line: ['operator', 'run', '--kubeconfig', path] }),
  'run --ship': (path, { folder }) => ({
    line: ['run', `--dir=${folder}/run`, '--metadata=off', '--remote-patience=1s', `--ship=file://${path}`, '--', 'true'],
    env: { PATH: process.env['PATH'] ?? '' },
  }),
  HOLDFAST_EPHEMERAL_LIMIT_FILE: (path, { folder }) => ({
    line: ['probe', '--bytes=1MiB', '--rounds=1', folder],
    env: { HOLDFAST_EPHEMERAL_LIMIT_FILE: path },
  }),
  'run COMMAND': (path, { folder }) => ({ line: ['run', `--dir=${folder}/run`, '--', path] }),
  'ls --sweep': (path) => ({ line: ['ls', '--sweep', path] }),
  'probe PATH': (path) => ({ line: ['probe', path] }),
  'probe URL': (path) => ({ line: ['probe', `file://${path}`] }),
  'verify PATH': (path) => ({ line: ['verify', path] }),
  KUBECONFIG: (path) => ({ line: ['why', 'pod/train-0'], env: { KUBECONFIG: path } }),
  'run --grid': (path) => ({ line: ['run', '--trial=0', '--grid', path, '--', 'true'] }),
  'seal --run': (path, { folder }) => ({ line: ['seal', '--run', path, folder] }),
  'ship RUN': (path, { folder }) => ({ line: ['ship', path, `file://${folder}/copies`] }),
  'ship URL': (path, { folder }) => ({ line: ['ship', folder, `file://${path}`] }),
  'fetch URL': (path, { folder }) => ({ line: ['fetch', `file://${path}`, `${folder}/back`] }),
  'fetch RUN': (path, { folder }) => ({ line: ['fetch', `file://${folder}/copies`, path] }),
  'ls URL': (path) => ({ line: ['ls', `file://${path}`] }),
  'queue serve --db': (path, { taken }) => ({ line: ['queue', 'serve', '--db', path, `--listen=127.0.0.1:${taken}`] }),
  'sslrootcert of queue serve --db': (path) => ({
    line: ['queue', 'serve', `--db=postgres://u@127.0.0.1:1/q?sslmode=verify-full&sslrootcert=${path}`],
  }),
  'queue push --glob': (path) => ({ line: ['queue', 'push', 'q', '--glob', path, '--url=http://127.0.0.1:1'] }),
  'queue push FILE': (path) => ({ line: ['queue', 'push', 'q', path, '--url=http://127.0.0.1:1'] }),
  'queue push FILE, as CSV': (path) => ({ line: ['queue', 'push', 'q', path, '--format=csv', '--url=http://127.0.0.1:1'] }),
  'queue serve --token-file': (path, { folder, taken }) => serve(folder, taken, '--token-file', path),
  'queue serve --worker-token-file': (path, { folder, taken }) => serve(folder, taken, '--worker-token-file', path),
  'queue status --token-file': (path) => ({ line: ['queue', 'status', '--url=http://127.0.0.1:1', '--token-file', path] }),
  HOLDFAST_QUEUE_TOKEN_FILE: (path) => ({
    line: ['queue', 'status', '--url=http://127.0.0.1:1'],
    env: { HOLDFAST_QUEUE_TOKEN_FILE: path },
  }),
  AWS_CONFIG_FILE: (path) => s3({ ...KEYS, AWS_CONFIG_FILE: path }),
  AWS_SHARED_CREDENTIALS_FILE: (path) => s3({ ...KEYS, AWS_SHARED_CREDENTIALS_FILE: path }),
  AWS_CA_BUNDLE: (path) => s3({ ...KEYS, AWS_CA_BUNDLE: path }),
  AWS_WEB_IDENTITY_TOKEN_FILE: (path) => s3({ ...ROLE, AWS_WEB_IDENTITY_TOKEN_FILE: path }),
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: (path) => s3({ ...CONTAINER, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: path }),
  GOOGLE_APPLICATION_CREDENTIALS: (path) => gcs({ GOOGLE_APPLICATION_CREDENTIALS: path }),
  CLOUDSDK_CONFIG: (path) => gcs({ CLOUDSDK_CONFIG: path }),
};

/** Options of `holdfast run` and of commands on a run; tests with real processes cover them. */
export const TRIED_ELSEWHERE = ['run --dir', 'run --watch', 'run --stage', 'run --notice-file', 'run --termination-log'];

/** Paths and addresses that a command only writes into a manifest. */
export const NOT_OPENED = ['adopt --dir', 'adopt --ship'];

function serve(folder: string, taken: number, option: string, path: string): Naming {
  return { line: ['queue', 'serve', `--db=${folder}/queue.db`, `--listen=127.0.0.1:${taken}`, option, path] };
}

/** A command over a kubeconfig with this user, in the folder of the test. */
function kubeconfig({ folder, taken }: NamingWorld, user: object): Naming {
  const file = `${folder}/kubeconfig`;
  const clusters = [{ name: 'c', cluster: { server: `https://127.0.0.1:${taken}` } }];
  const contexts = [{ name: 'x', context: { cluster: 'c', user: 'u' } }];
  writeFileSync(file, JSON.stringify({ kind: 'Config', clusters, contexts, users: [{ name: 'u', user }], 'current-context': 'x' }));
  return { line: ['why', '--kubeconfig', file, 'pod/train-0'] };
}

function s3(env: Readonly<Record<string, string>>): Naming {
  const alone = { AWS_MAX_ATTEMPTS: '1', AWS_EC2_METADATA_DISABLED: 'true', HOME: '/nonexistent' };
  return { line: ['ls', 's3://bucket/run', '--endpoint=http://127.0.0.1:1'], env: { ...alone, ...env } };
}

function gcs(env: Readonly<Record<string, string>>): Naming {
  return { line: ['ls', 'gs://bucket/run'], env: { HOME: '/nonexistent', GCE_METADATA_HOST: '127.0.0.1:1', ...env } };
}
