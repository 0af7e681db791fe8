// The checks of vCluster itself: does it still write what Hostward writes, by the configuration at hand and by the one it runs with,
// and does it know sidecars.

import { type ResourceRef, servicesResource } from '../../../cluster/wire/scope.ts';
import { formatFault } from '../../../config/fault.ts';
import { sidecarsIn } from '../../../config/load/lint.ts';
import { kindWords, type SharedKind, sharedKinds, unsoundWriters } from '../../../config/load/unsound-writers.ts';
import { runAtOnce } from '../../../config/steps.ts';
import { parseYaml } from '../../../config/yaml/parse-yaml.ts';
import { SourceText } from '../../../config/yaml/source-text.ts';
import { toPlain } from '../../../config/yaml/tree.ts';
import { counted } from '../../../object/text/in-words.ts';
import { isRecord } from '../../../object/text/json.ts';
import type { Check } from '../patient/check.ts';
import { couldNotCheck, fault, ok, unread } from '../patient/finding.ts';
import type { Patient } from '../patient/patient.ts';
import { chartVersion } from '../patient/versions.ts';
import { writerCodes } from './configuration.ts';

/** The chart has taken sidecars since 0.30. */
const sidecarMinor = 30;

const hasSync = (patient: Patient): boolean => patient.hasSync;

const isOffInConfiguration: Check = {
  code: 'HW-401',
  needs: ['HW-101'],
  applies: hasSync,
  async look({ loaded, homeInstead }) {
    const found = loaded.warnings.filter(({ code }) => writerCodes.has(code));
    if (found.length === 0 && !loaded.tellsOfVcluster)
      return couldNotCheck('no file at hand says what vCluster syncs, and by default it syncs both kinds', {
        mend: 'give the values of vCluster too: --config vcluster.yaml',
      });
    if (found.length === 0) return ok('the configuration leaves no kind to two writers');
    const details = found.map((one) => formatFault(one));
    const { virtualClusterName, hostNamespace } = loaded.settings;
    return fault('the configuration lets vCluster write what Hostward writes, or mixes their writers unsoundly', {
      details,
      mend: switchOff({ name: virtualClusterName, namespace: homeInstead ?? hostNamespace, kinds: sharedKinds }),
    });
  },
};

const isOffWhereItRuns: Check = {
  code: 'HW-402',
  needs: ['HW-301', 'HW-306'],
  applies: (patient) => patient.hasSync && patient.homeInstead === undefined,
  async look(patient) {
    const { settings } = patient;
    const { hostNamespace: namespace, virtualClusterName } = settings;
    const name = `vc-config-${virtualClusterName}`;
    const read = `kubectl -n ${namespace} get secret ${name} -o jsonpath='{.data.config\\.yaml}' | base64 -d`;
    const answer = await patient.cluster('host').client.get(secretsResource, { namespace, name });
    if (answer.kind === 'notFound')
      return couldNotCheck(`there is no Secret ${namespace}/${name}`, {
        mend: `kubectl -n ${namespace} get secrets   # vCluster 0.20 and later keep their values in vc-config-NAME; is ${virtualClusterName} the name?`,
      });
    if (answer.kind !== 'ok') return unread(`Secret ${namespace}/${name}`, answer, read);
    const values = valuesIn(answer.object);
    if (values === undefined) return couldNotCheck(`Secret ${namespace}/${name} holds no values`, { mend: read });
    patient.runningSidecars = sidecarsIn(values).length;
    const vclusters = sharedKinds.filter((kind) => isOn(values, kind));
    const ours = sharedKinds.filter((kind) =>
      kind === 'endpoints' ? settings.endpointsEnabled : settings.endpointSlices.enabled,
    );
    const both = vclusters.filter((kind) => ours.includes(kind));
    const arePatched = [...settings.patches, ...settings.slicePatches].some(({ expression }) => expression);
    const unsound = unsoundWriters({ ours, vclusters, arePatched });
    if (both.length === 0 && unsound === undefined) return ok('vCluster runs with its own sync off');
    const details = [
      ...both.map((kind) => `vCluster and Hostward both write ${kindWords[kind]}`),
      ...(unsound === undefined ? [] : [unsound.sentence]),
    ];
    return fault(
      `vCluster runs with its own sync of ${both.map((kind) => kindWords[kind]).join(' and ') || 'one kind'} on`,
      {
        details,
        mend: switchOff({ name: virtualClusterName, namespace, kinds: vclusters, version: await versionOf(patient) }),
      },
    );
  },
};

/** As vCluster reads them: YAML 1.1, where off is false. */
function valuesIn(secret: Record<string, unknown>): unknown {
  const data = secret['data'];
  const encoded = isRecord(data) ? data['config.yaml'] : undefined;
  if (typeof encoded !== 'string') return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const parsed = runAtOnce(parseYaml(new SourceText('config.yaml', text)));
  return parsed.kind === 'tree' ? toPlain(parsed.root) : undefined;
}

/** vCluster syncs both kinds unless its values say no. */
function isOn(values: unknown, kind: SharedKind): boolean {
  const found = ['sync', 'toHost', kind, 'enabled'].reduce<unknown>(
    (at, key) => (isRecord(at) ? at[key] : undefined),
    values,
  );
  return found !== false;
}

/** Without its version Helm would take the newest vCluster. */
function switchOff(of: {
  name: string;
  namespace: string;
  kinds: readonly SharedKind[];
  version?: string | undefined;
}) {
  const { name, namespace, kinds, version } = of;
  const sets = kinds.map((kind) => `--set sync.toHost.${kind}.enabled=false`).join(' ');
  const command = `helm upgrade ${name} vcluster --repo https://charts.loft.sh --version ${version ?? 'VERSION'} -n ${namespace} --reuse-values ${sets}`;
  return version === undefined
    ? `${command}   # VERSION: the one that you run, which helm -n ${namespace} list shows`
    : command;
}

/** The version of the chart of vCluster, which its Service says; undefined if it does not. */
async function versionOf(patient: Patient): Promise<string | undefined> {
  const { hostNamespace: namespace, virtualClusterName: name } = patient.settings;
  const answer = await patient.cluster('host').client.get(servicesResource, { namespace, name });
  return answer.kind === 'ok' ? chartVersion(answer.object.metadata.labels?.['chart'])?.text : undefined;
}

/** Of the files at hand or of the values that vCluster runs with, where these could be read. */
const sidecars = ({ settings, runningSidecars }: Patient) =>
  Math.max(sidecarsIn(settings.vcluster).length, runningSidecars);

const knowsSidecars: Check = {
  code: 'HW-403',
  needs: ['HW-301', 'HW-306', 'HW-308'],
  applies: (patient) => patient.hasSync && patient.homeInstead === undefined && sidecars(patient) > 0,
  async look(patient) {
    const { hostNamespace: namespace, virtualClusterName: name } = patient.settings;
    const answer = await patient.cluster('host').client.get(servicesResource, { namespace, name });
    const label = answer.kind === 'ok' ? answer.object.metadata.labels?.['chart'] : undefined;
    const version = chartVersion(label);
    if (version === undefined)
      return couldNotCheck(`Service ${namespace}/${name} does not say which chart made it`, {
        mend: `helm -n ${namespace} list`,
      });
    if (version.minor >= sidecarMinor) return ok(`vCluster ${version.text}`);
    return fault(`vCluster ${version.text} ignores sidecarContainers, wanted 0.${sidecarMinor} at least`, {
      mend: `helm upgrade ${name} vcluster --repo https://charts.loft.sh --version VERSION -n ${namespace} --reuse-values   # VERSION: 0.${sidecarMinor} or newer; or install config/chart beside it`,
    });
  },
};

const isOneSidecar: Check = {
  code: 'HW-404',
  needs: ['HW-101'],
  applies: (patient) => patient.hasSync && sidecars(patient) > 0,
  async look(patient) {
    const count = sidecars(patient);
    if (count === 1) return ok('one sidecar');
    return fault(
      `controlPlane.statefulSet has ${counted(count, 'container')} of Hostward, which would write beside each other`,
      {
        mend: 'leave one of them in the values; Helm replaces lists, so look at each file that has the key',
      },
    );
  },
};

export const vclusterChecks: readonly Check[] = [isOffInConfiguration, isOffWhereItRuns, knowsSidecars, isOneSidecar];

/** The resources that only doctor asks for. */
const secretsResource: ResourceRef = { path: 'api/v1', resource: 'secrets', kind: 'Secret' };
