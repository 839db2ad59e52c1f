import { homedir } from 'node:os';
import { join } from 'node:path';
import { HoldfastError, systemCode } from '../../core/errors.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import { excerpt, printable } from '../../core/printable.ts';
import { readRegularFile, whyUnreadable } from '../../core/read-regular.ts';
import type { Env } from '../http/connect.ts';
import { type IniFile, parseIni } from './aws-ini.ts';

/** What the shared AWS files say about one profile. */
export interface AwsProfile {
  readonly name: string;
  readonly settings: ReadonlyMap<string, string>;
  /** Settings of the `[sso-session]` the profile names. */
  readonly ssoSession: ReadonlyMap<string, string> | null;
}

/** The user's home folder. */
export function homeOf(env: Env): string {
  return env['HOME'] ?? homedir();
}

function sharedFiles(env: Env): readonly [config: string, credentials: string] {
  const folder = join(homeOf(env), '.aws');
  return [env['AWS_CONFIG_FILE'] ?? join(folder, 'config'), env['AWS_SHARED_CREDENTIALS_FILE'] ?? join(folder, 'credentials')];
}

/** The config file writes every profile but the default one as `[profile NAME]`. */
function profileSection(config: IniFile | null, name: string): ReadonlyMap<string, string> | undefined {
  return config?.get(name === 'default' && config.has('default') ? 'default' : `profile ${name}`);
}

/**
 * Reads the profile that `--profile` or AWS_PROFILE names, or `default`. A named profile that is
 * missing is an error.
 */
export function readProfile(env: Env, wanted: string | null): AwsProfile {
  const name = wanted ?? env['AWS_PROFILE'] ?? env['AWS_DEFAULT_PROFILE'] ?? 'default';
  const [configFile, credentialsFile] = sharedFiles(env);
  const config = readIni(configFile);
  const credentials = readIni(credentialsFile);
  const own = profileSection(config, name);
  const secret = credentials?.get(name);
  if (own === undefined && secret === undefined && name !== 'default') {
    throw new HoldfastError('CREDENTIALS_MISSING', {
      message: `there is no AWS profile "${excerpt(name, 60)}" in ${printable(configFile)} or ${printable(credentialsFile)}`,
      hint: 'Check AWS_PROFILE, AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE; in the config file the section is [profile NAME].',
    });
  }
  const settings = new Map([...(own ?? []), ...(secret ?? [])]);
  const session = settings.get('sso_session');
  return { name, settings, ssoSession: session === undefined ? null : (config?.get(`sso-session ${session}`) ?? null) };
}

/** Reads a shared AWS file; null when it is missing. */
function readIni(file: string): IniFile | null {
  try {
    return parseIni(readRegularFile(file, LIMITS.settingsBytes).toString('utf8'));
  } catch (thrown) {
    const code = systemCode(thrown);
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new HoldfastError('SETTING_INVALID', {
      message: `the AWS file ${printable(file)} cannot be read: ${whyUnreadable(thrown)}`,
      hint: 'Give the user that runs Holdfast the right to read it, or point AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE elsewhere.',
      cause: thrown,
    });
  }
}
