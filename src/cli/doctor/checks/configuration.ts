// The checks of the configuration and of the files that it names.

import { resolve } from 'node:path';
import { selectIn } from '../../../cluster/credentials/kubeconfig.ts';
import { countOf, formatFault } from '../../../config/fault.ts';
import { counted } from '../../../object/text/in-words.ts';
import { shellWord } from '../../../safe-text.ts';
import type { Context } from '../../line/context.ts';
import { faultsOf, prepareLoad } from '../../line/load-settings.ts';
import { fileFaults, wantedOf } from '../../offline/checks/file-faults.ts';
import type { Check } from '../patient/check.ts';
import { fault, ok, warning } from '../patient/finding.ts';
import type { Patient } from '../patient/patient.ts';

/** Findings about two writers have checks of their own. */
export const writerCodes: ReadonlySet<string> = new Set(['CONFIG_TWO_WRITERS', 'CONFIG_UNSOUND_WRITERS']);

const isValid: Check = {
  code: 'HW-101',
  needs: [],
  async look(patient) {
    const { loaded, podNamespace } = await prepareLoad(patient.context, patient.options);
    patient.podNamespace = podNamespace?.trim() || undefined;
    const names = patient.options.texts('config');
    const which = names.length === 0 ? 'the defaults, because no --config was given' : names.join(', ');
    if (loaded.kind === 'ok') {
      patient.takeConfiguration(loaded);
      return ok(`valid: ${which}`);
    }
    const details = faultsOf(loaded).map((one) => formatFault(one));
    return fault(`${counted(countOf(faultsOf(loaded)), 'fault')} in ${which}`, {
      details,
      mend: checkCommand(patient),
    });
  },
};

const hasNoWarning: Check = {
  code: 'HW-102',
  needs: ['HW-101'],
  async look(patient) {
    const found = patient.loaded.warnings.filter(({ code }) => !writerCodes.has(code));
    if (found.length === 0) return ok('no warning');
    const details = found.map((one) => formatFault(one));
    return warning(counted(countOf(found), 'warning'), { details, mend: checkCommand(patient) });
  },
};

const filesCanBeRead: Check = {
  code: 'HW-103',
  needs: ['HW-101'],
  async look({ context, options, loaded }) {
    const found = await fileFaults(context, options, loaded);
    if (found.length === 0) return ok('every file that the configuration names can be read');
    const details = found.map((one) => formatFault(one));
    const isFault = found.some(({ severity }) => severity === 'fault');
    // What is only a warning is a certificate, whose file is where it should be.
    const renew =
      'renew the kubeconfig or the certificate, or correct the clock of this machine; a changed file is read by itself';
    if (!isFault)
      return warning(`${counted(countOf(found), 'certificate does', 'certificates do')} not count now`, {
        details,
        mend: renew,
      });
    const isMixed = found.some(({ severity }) => severity !== 'fault');
    const mend = 'mount the file, correct the path in the configuration, or let the user of the daemon read it';
    return fault(`${counted(countOf(found), 'file')} cannot be used`, {
      details,
      mend: isMixed ? `${mend}; ${renew}` : mend,
    });
  },
};

const filesAreClosed: Check = {
  code: 'HW-104',
  needs: ['HW-101'],
  async look(patient) {
    const { context } = patient;
    const paths = [...new Set(credentialFiles(patient))].map((path) => resolve(context.cwd, path));
    const modes = await Promise.all(paths.map(async (path) => ({ path, mode: await context.files.modeOf(path) })));
    const mayBeOpen = modes.filter(({ mode }) => mode !== undefined && (mode & worldBits) !== 0);
    // A folder is no file with credentials, and HW-103 has said so.
    const folders = await Promise.all(mayBeOpen.map(({ path }) => isFolder(context, path)));
    const open = mayBeOpen.filter((_, index) => !folders[index]);
    if (open.length === 0) return ok(`${counted(paths.length, 'file')} with credentials, none open to every user`);
    const details = open.map(({ path, mode }) => `"${path}" has the mode ${(mode ?? 0).toString(8).padStart(3, '0')}`);
    const mend = `chmod o-rwx ${open.map(({ path }) => path).join(' ')}`;
    return warning(`every user of this machine may open ${counted(open.length, 'file')} with credentials`, {
      details,
      mend,
    });
  },
};

function isFolder({ files }: Context, path: string): Promise<boolean> {
  return files.list(path).then(
    () => true,
    () => false,
  );
}

/** The group may read: a pod's fsGroup gives its files to a group on purpose. */
const worldBits = 0o007;

function credentialFiles({ settings, loaded }: Patient): string[] {
  const kubeconfigs = [settings.virtualKubeconfig, settings.hostKubeconfig].filter((path) => path !== undefined);
  const named = loaded.files.filter(({ path }) => /(?:kubeconfig|key|keyFile)$/i.test(path)).map(({ file }) => file);
  return [...kubeconfigs, ...named];
}

/** With the same names, because without them check would find something else. */
function checkCommand(patient: Patient): string {
  const { options } = patient;
  const files = options.texts('config').map((name) => `--config ${name}`);
  const names = ['vcluster-name', 'host-namespace'].flatMap((name) => {
    const value = options.text(name);
    return value === undefined ? [] : [`--${name} ${value}`];
  });
  return patient.command(['check', ...files, ...names].join(' '));
}

const isSwitchedOn: Check = {
  code: 'HW-105',
  needs: ['HW-101'],
  async look({ settings, hasSync }) {
    const kinds = [
      ...(hasSync && settings.endpointsEnabled ? ['Endpoints'] : []),
      ...(hasSync && settings.endpointSlices.enabled ? ['EndpointSlices'] : []),
      ...(settings.managementServer ? ['the management API'] : []),
    ];
    if (kinds.length > 0) return ok(kinds.join(', '));
    return warning(
      'neither Endpoints nor EndpointSlices are synced, and there is no management API: the daemon does nothing',
      {
        mend: 'set hostward.endpoints.enabled or hostward.endpointSlices.enabled to true',
      },
    );
  },
};

const serversProveThemselves: Check = {
  code: 'HW-106',
  needs: ['HW-101'],
  async look({ context, options, loaded }) {
    const wanted = wantedOf(options, loaded).filter(({ holds }) => holds === 'kubeconfig');
    const paths = [...new Set(wanted.map(({ file }) => file))];
    // One after the other, because a configuration may name more files than a process may open.
    const open: { path: string; cluster: string }[] = [];
    for (const path of paths) {
      const cluster = await unverifiedIn(context, path);
      if (cluster !== undefined) open.push({ path, cluster });
    }
    if (open.length === 0) return ok(`${counted(paths.length, 'kubeconfig')}, none with insecure-skip-tls-verify`);
    return warning(`${counted(open.length, 'kubeconfig trusts', 'kubeconfigs trust')} every server that answers`, {
      details: open.map(({ path, cluster }) => `"${path}" has insecure-skip-tls-verify: true in cluster "${cluster}"`),
      mend: open.map(trustCommand).join('\n'),
    });
  },
};

/** The cluster of the current context, if its server need not prove who it is. A file that cannot be read is a finding of HW-103. */
async function unverifiedIn({ files }: Context, path: string): Promise<string | undefined> {
  const source = await files.readConfiguration(path);
  if (!('text' in source)) return undefined;
  const found = await selectIn(path, Buffer.from(source.text).toString('utf8'));
  if (found.kind === 'faults') return undefined;
  const { name, server, skipTLSVerify } = found.selected.cluster;
  return skipTLSVerify && server.startsWith('https:') ? name : undefined;
}

/** kubectl removes insecure-skip-tls-verify when it writes an authority. */
function trustCommand({ path, cluster }: { path: string; cluster: string }): string {
  const words = ['kubectl', 'config', 'set-cluster', cluster, '--kubeconfig', path].map(shellWord);
  return `${words.join(' ')} --certificate-authority ca.crt --embed-certs   # ca.crt: the authority of that cluster, from who runs it`;
}

export const configurationChecks: readonly Check[] = [
  isValid,
  hasNoWarning,
  filesCanBeRead,
  filesAreClosed,
  isSwitchedOn,
  serversProveThemselves,
];
