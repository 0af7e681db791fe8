import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../../src/cli/line/parse-arguments.ts';
import { startedAsOf } from '../../../src/cli/running/started-as.ts';

const kubeconfigs = { virtualKubeconfig: '/data/virtual', hostKubeconfig: undefined };

function started(
  words: readonly string[],
  { environment = {}, settings = {} }: { environment?: Record<string, string>; settings?: object } = {},
) {
  const line = parseCommandLine(['run', ...words]);
  if (line.kind !== 'command') throw new Error('wanted a command');
  const all = { ...kubeconfigs, hostNamespace: 'vcluster-vc', listen: '0.0.0.0:9441', ...settings };
  return startedAsOf({ environment, cwd: '/home/me' }, line.options, { settings: all, podNamespace: undefined });
}

describe('startedAsOf()', () => {
  it('names the environment and every relative file so that they hold in another shell and another folder', () => {
    const words = ['-c', 'a b.yaml', '-c', '-', '--host-kubeconfig', 'h.yaml', '--wait', '5m', '--dry-run'];
    const environment = { VCLUSTER_NAME: 'vc', NAMESPACE: 'vcluster-vc', npm_command: 'exec' };
    expect(started(words, { environment, settings: { hostKubeconfig: 'h.yaml' } })).toEqual({
      program: 'npx hostward',
      options: [
        { option: 'config', value: '/home/me/a b.yaml' },
        { option: 'vcluster-name', value: 'vc' },
        { option: 'host-namespace', value: 'vcluster-vc' },
        { option: 'host-kubeconfig', value: '/home/me/h.yaml' },
      ],
      restart:
        "npx hostward run --config '/home/me/a b.yaml' --vcluster-name vc --host-namespace vcluster-vc --host-kubeconfig /home/me/h.yaml --wait 5m --dry-run",
      hostKubeconfig: '/home/me/h.yaml',
      virtualKubeconfig: '/data/virtual',
      settingsFile: '/home/me/a b.yaml',
    });
  });

  it('names kubeconfigs that a file names with a relative path, and leaves the others to the file', () => {
    const settings = { virtualKubeconfig: 'v.yaml', hostKubeconfig: '/etc/h.yaml' };
    expect(started(['-c', '/etc/v.yaml'], { settings })).toMatchObject({
      options: [
        { option: 'config', value: '/etc/v.yaml' },
        { option: 'virtual-kubeconfig', value: '/home/me/v.yaml' },
      ],
      hostKubeconfig: '/etc/h.yaml',
      virtualKubeconfig: '/home/me/v.yaml',
    });
  });

  it('lets an option win over the environment, as the daemon does', () => {
    const { options } = started(['--vcluster-name', 'one'], { environment: { VCLUSTER_NAME: 'other' } });
    expect(options).toEqual([{ option: 'vcluster-name', value: 'one' }]);
  });

  it('enters the pod that it runs in', () => {
    const environment = { KUBERNETES_SERVICE_HOST: '10.0.0.1', HOSTNAME: 'my-vcluster-0', VCLUSTER_NAME: 'vc' };
    expect(started(['-c', '/etc/hostward.yaml'], { environment })).toEqual({
      program: 'kubectl -n vcluster-vc exec my-vcluster-0 -c hostward -- node /opt/hostward/src/launcher/hostward.mjs',
      options: [{ option: 'config', value: '/etc/hostward.yaml' }],
      settingsFile: '/etc/hostward.yaml',
      restart: 'kubectl -n vcluster-vc delete pod my-vcluster-0',
      addressBeside: '127.0.0.1:9441',
    });
  });
});
