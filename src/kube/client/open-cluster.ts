import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parseDocument } from 'yaml';
import type { KubeConfig } from '@kubernetes/client-node';
import type { Clock } from '../../core/clock.ts';
import { HoldfastError, systemCode, toError } from '../../core/errors.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import { excerpt, printable } from '../../core/printable.ts';
import { readRegularFile, whyUnreadable } from '../../core/read-regular.ts';
import { Connection } from './connection.ts';
import { Transport } from './transport.ts';

/** The cluster to use, in the terms of kubectl. */
export interface ClusterChoice {
  readonly kubeconfig: string | null;
  readonly context: string | null;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** A connection to a cluster, and the namespace of its context. */
export interface OpenCluster {
  /** For a command that asks a few questions. */
  readonly connection: Connection;
  /** For a controller, which has its own way with failures. */
  readonly transport: Transport;
  readonly context: string;
  readonly namespace: string;
}

/** Opens the cluster of a kubeconfig, which is found as kubectl finds it. Sends nothing yet. */
export async function openCluster(choice: ClusterChoice): Promise<OpenCluster> {
  // In the single executable, the runtime would print a warning about a module of the client’s
  // library.
  process.noDeprecation = true;
  // Loading takes half a second, so only commands that use a cluster load it.
  const { KubeConfig: Config } = await import('@kubernetes/client-node');
  const config = new Config();
  load(config, choice);
  chooseContext(config, choice);
  const cluster = config.getCurrentCluster();
  if (cluster === null || isGuess(config, cluster.server)) {
    throw new HoldfastError('KUBECONFIG_NOT_USABLE', {
      message: 'no kubeconfig was found, or it names no current context',
      hint: 'Give --kubeconfig or --context, set KUBECONFIG, or judge a dump with -f.',
    });
  }
  const user = config.getCurrentUser();
  const provider = user?.authProvider?.config as { readonly tokenFile?: unknown } | undefined;
  for (const file of [cluster.caFile, user?.certFile, user?.keyFile, provider?.tokenFile]) assertReadable(file);
  const context = config.getCurrentContext();
  const namespace = config.getContextObject(context)?.namespace ?? 'default';
  const transport = new Transport(cluster.server, config);
  return { connection: new Connection(transport, choice), transport, context, namespace };
}

function chooseContext(config: KubeConfig, { context }: ClusterChoice): void {
  const wanted: unknown = context ?? config.getCurrentContext();
  if (typeof wanted !== 'string' || wanted === '') return;
  if (config.getContextObject(wanted) === null) throw noContext(config, wanted);
  config.setCurrentContext(wanted);
}

function load(config: KubeConfig, { kubeconfig }: ClusterChoice): void {
  for (const file of kubeconfig === null ? defaultFiles() : [kubeconfig]) {
    for (const token of tokenFiles(assertReadable(file))) assertReadable(token);
  }
  try {
    if (kubeconfig === null) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
  } catch (thrown) {
    const where = kubeconfig === null ? 'the kubeconfig' : printable(kubeconfig);
    throw new HoldfastError('KUBECONFIG_NOT_USABLE', {
      message: `${where} cannot be used: ${whyUnusable(thrown)}`,
      hint: '`kubectl config view` reads the same file.',
      cause: thrown,
    });
  }
}

/** The library meets an unexpected shape as a TypeError, which would name our own variables. */
function whyUnusable(thrown: unknown): string {
  if (thrown instanceof TypeError) return 'it is no kubeconfig';
  return printable(toError(thrown).message.split('\n', 1)[0] ?? '');
}

/** Where the library looks for a kubeconfig. */
function defaultFiles(): readonly string[] {
  const named = (process.env['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '');
  return named.length > 0 ? named : [join(process.env['HOME'] ?? homedir(), '.kube', 'config')];
}

/**
 * Reads a file that the library will open. The library would wait for a pipe for ever. Null: no
 * file is named, or it does not exist.
 */
function assertReadable(file: unknown): Buffer | null {
  if (typeof file !== 'string' || file === '') return null;
  try {
    return readRegularFile(file, LIMITS.settingsBytes);
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return null;
    throw new HoldfastError('KUBECONFIG_NOT_USABLE', {
      message: `${printable(file)} of the kubeconfig cannot be read: ${whyUnreadable(thrown)}`,
      hint: '`kubectl config view` names the files.',
      cause: thrown,
    });
  }
}

/** The files of tokens that the library opens while it parses a kubeconfig. */
function tokenFiles(kubeconfig: Buffer | null): readonly unknown[] {
  const { users } = (parseDocument(kubeconfig?.toString('utf8') ?? '').toJS() ?? {}) as { readonly users?: unknown };
  if (!Array.isArray(users)) return [];
  return users.map((entry: { readonly user?: { readonly 'token-file'?: unknown } } | null) => entry?.user?.['token-file']);
}

/**
 * Without a configuration, the client would use a server on this machine, which is never intended.
 */
function isGuess(config: KubeConfig, server: string): boolean {
  return config.getCurrentContext() === 'loaded-context' && server === 'http://localhost:8080';
}

function noContext(config: KubeConfig, wanted: string): HoldfastError {
  const known = config.getContexts().map(({ name }) => name);
  return new HoldfastError('KUBECONFIG_NOT_USABLE', {
    message: `the kubeconfig has no context "${excerpt(wanted, 60)}"`,
    hint:
      known.length === 0
        ? 'It has no contexts at all.'
        : `It has ${known
            .slice(0, 8)
            .map((name) => excerpt(name, 60))
            .join(', ')}.`,
  });
}
