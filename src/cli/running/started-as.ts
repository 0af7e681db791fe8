// Tells how this daemon was started, so that its status can print commands that reach the same clusters. In: the options of `hostward
// run`, the environment, and the settings that came of both. Out: words for a shell.
import { resolve } from 'node:path';
import type { Settings } from '../../config/settings/settings.ts';
import { shellWord } from '../../safe-text.ts';
import { optionWords, type StartedAs } from '../../sync/report/attention/own-commands.ts';
import { settingOptions } from '../line/commands/options.ts';
import type { Context } from '../line/context.ts';
import type { Options } from '../line/parse-arguments.ts';
import { localAddress } from './ask-daemon.ts';

/** Where the image keeps the program; its PATH has none. */
const imageProgram = 'node /opt/hostward/src/launcher/hostward.mjs';

/** A command of ours in a pod, for somebody outside. */
export function programInPod({ namespace, pod }: { namespace: string; pod: string }): string {
  return `kubectl -n ${namespace} exec ${pod} -c hostward -- ${imageProgram}`;
}

type Named = StartedAs['options'][number];

export function startedAsOf(
  { environment, cwd }: Pick<Context, 'environment' | 'cwd'>,
  options: Options,
  {
    settings,
    podNamespace,
  }: {
    settings: Pick<Settings, 'virtualKubeconfig' | 'hostKubeconfig' | 'hostNamespace' | 'listen'>;
    podNamespace: string | undefined;
  },
): StartedAs {
  if (environment['KUBERNETES_SERVICE_HOST']) {
    const namespace = shellWord(podNamespace?.trim() || settings.hostNamespace || 'NAMESPACE');
    const pod = shellWord(environment['HOSTNAME'] || 'deploy/hostward');
    return {
      program: programInPod({ namespace, pod }),
      ...optionsAndFile(namedOptions(options, cwd, {})),
      restart: `kubectl -n ${namespace} delete pod ${pod}`,
      addressBeside: localAddress(settings.listen),
    };
  }
  const program = environment['npm_command'] === 'exec' ? 'npx hostward' : 'hostward';
  const named = namedOptions(options, cwd, {
    'vcluster-name': environment['VCLUSTER_NAME'],
    'host-namespace': environment['NAMESPACE'],
    'virtual-kubeconfig': ifRelative(settings.virtualKubeconfig),
    'host-kubeconfig': ifRelative(settings.hostKubeconfig),
  });
  const wait = options.text('wait');
  const more = [
    ...(wait === undefined ? [] : [optionWords({ option: 'wait', value: wait })]),
    ...['dry-run', 'verbose'].filter((name) => options.has(name)).map((name) => `--${name}`),
  ];
  return {
    program,
    ...optionsAndFile(named),
    restart: [`${program} run`, ...named.map(optionWords), ...more].join(' '),
    ...(settings.hostKubeconfig && { hostKubeconfig: resolve(cwd, settings.hostKubeconfig) }),
    ...(settings.virtualKubeconfig && { virtualKubeconfig: resolve(cwd, settings.virtualKubeconfig) }),
  };
}

function optionsAndFile(named: readonly Named[]): Pick<StartedAs, 'options' | 'settingsFile'> {
  const files = named.filter(({ option }) => option === 'config');
  return { options: named, ...(files.length === 1 && { settingsFile: files[0]?.value as string }) };
}

/** `silent`: values that hold without an option, but not in another shell or another folder. */
function namedOptions(
  options: Options,
  cwd: string,
  silent: Readonly<Record<string, string | undefined>>,
): readonly Named[] {
  return settingOptions.flatMap(({ name, value: kind }) => {
    const given = options.texts(name);
    const values = given.length > 0 ? given : [silent[name] ?? ''];
    return (
      values
        // Nobody can read standard input again.
        .filter((value) => value !== '' && value !== '-')
        .map((value) => ({ option: name, value: kind === 'FILE' ? resolve(cwd, value) : value }))
    );
  });
}

function ifRelative(path: string | undefined): string | undefined {
  return path?.startsWith('/') ? undefined : path;
}
