import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** A program that copies folders to S3 and back. */
export interface Copier {
  readonly name: string;
  /** Copies the content of a folder to `bucket/prefix`. */
  readonly send: (folder: string, target: string) => readonly string[];
  readonly receive: (target: string, folder: string) => readonly string[];
}

const COMMANDS: Readonly<Record<string, Omit<Copier, 'name'> & { readonly title: string }>> = {
  rclone: {
    title: 'rclone copy',
    send: (folder, target) => ['rclone', 'copy', folder, `BENCH:${target}`],
    receive: (target, folder) => ['rclone', 'copy', `BENCH:${target}`, folder],
  },
  aws: {
    title: 'aws s3 cp',
    send: (folder, target) => ['aws', 's3', 'cp', '--recursive', '--quiet', folder, `s3://${target}`],
    receive: (target, folder) => ['aws', 's3', 'cp', '--recursive', '--quiet', `s3://${target}`, folder],
  },
  s5cmd: {
    title: 's5cmd cp',
    send: (folder, target) => ['s5cmd', 'cp', `${folder}/`, `s3://${target}/`],
    receive: (target, folder) => ['s5cmd', 'cp', `s3://${target}/*`, `${folder}/`],
  },
};

/** The programs that are available here, and a sentence for each missing one. */
export function findCopiers(): { readonly copiers: readonly Copier[]; readonly missing: readonly string[] } {
  const { stdout } = spawnSync(join(import.meta.dirname, 'setup-copiers.sh'), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  const copiers: Copier[] = [];
  const missing: string[] = [];
  for (const [, name = '', mark, rest = ''] of stdout.matchAll(/^(\w+)([=!])(.+)$/gm)) {
    const command = COMMANDS[name];
    if (mark === '!') missing.push(`${name} ${rest.replace(/\.$/, '')}.`);
    else if (command !== undefined) {
      const at = ([, ...args]: readonly string[]): readonly string[] => [rest, ...args];
      copiers.push({
        name: command.title,
        send: (folder, target) => at(command.send(folder, target)),
        receive: (target, folder) => at(command.receive(target, folder)),
      });
    }
  }
  return { copiers, missing };
}

/** The environment that the programs need to find a server, beside Holdfast's own. */
export function copierEnv(endpoint: string): Readonly<Record<string, string>> {
  return {
    AWS_ENDPOINT_URL: endpoint,
    AWS_DEFAULT_REGION: 'us-east-1',
    S3_ENDPOINT_URL: endpoint,
    RCLONE_CONFIG: '/dev/null',
    RCLONE_CONFIG_BENCH_TYPE: 's3',
    RCLONE_CONFIG_BENCH_PROVIDER: 'Minio',
    RCLONE_CONFIG_BENCH_ENV_AUTH: 'true',
    RCLONE_CONFIG_BENCH_REGION: 'us-east-1',
    RCLONE_CONFIG_BENCH_ENDPOINT: endpoint,
  };
}
