// `hostward upstream-rbac`: the roles and bindings that a cluster behind the management API needs, made from the configuration. Whom
// they are for is asked of the cluster itself, with the kubeconfig that Hostward uses there.

import { openCredentials } from '../../cluster/credentials/credentials.ts';
import type { Connection } from '../../cluster/wire/connection.ts';
import { openConnection } from '../../cluster/wire/transport.ts';
import type { ManagementSettings } from '../../config/settings/management-settings.ts';
import { silentLog } from '../../log.ts';
import { subjectNamed, type UpstreamPlace, upstreamObjects } from '../../management/proxy/upstream-roles.ts';
import { expectOk } from '../line/cluster-client.ts';
import { clusterFault } from '../line/cluster-fault.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../line/context.ts';
import type { Options } from '../line/parse-arguments.ts';
import { toYaml } from '../offline/yaml-text.ts';
import { configuredServer } from './client/reach-server.ts';

export async function upstreamRbac(context: Context, options: Options): Promise<ExitCode> {
  const place = placeOf(options);
  const { settings } = await configuredServer(context, options);
  if (upstreamObjects(settings, place, subjectNamed('')) === undefined) throw unknownPlace(settings, place);
  const user = options.text('user') ?? (await whoAmI(context, settings, place));
  const objects = upstreamObjects(settings, place, subjectNamed(user)) ?? [];
  if (options.choice('output') === 'json') {
    const list = { apiVersion: 'v1', kind: 'List', items: objects };
    context.stdout.write(`${JSON.stringify(list, undefined, 2)}\n`);
  } else {
    context.stdout.write(objects.map(toYaml).join('---\n'));
  }
  return exitCodes.fine;
}

function placeOf(options: Options): UpstreamPlace {
  const cluster = options.text('cluster');
  const instance = options.text('instance');
  if ((cluster === undefined) === (instance === undefined))
    throw new CommandFault(exitCodes.usage, 'say which cluster is meant', {
      hint: 'give --cluster NAME for one of hostward.management.clusters, or --instance PROJECT/NAME for a virtual cluster',
    });
  if (cluster !== undefined) return { cluster };
  const [, project, virtualCluster] = /^([^/]+)\/([^/]+)$/.exec(instance ?? '') ?? [];
  if (project === undefined || virtualCluster === undefined)
    throw new CommandFault(exitCodes.usage, `--instance wants PROJECT/NAME, found "${instance}"`, {
      hint: 'both names are in hostward.management.projects',
    });
  return { project, virtualCluster };
}

function unknownPlace({ clusters, projects }: ManagementSettings, place: UpstreamPlace): CommandFault {
  const isCluster = 'cluster' in place;
  const known = isCluster
    ? clusters.map(({ name }) => name)
    : projects.flatMap(({ name, virtualClusters }) => virtualClusters.map((one) => `${name}/${one.name}`));
  const hint = known.length === 0 ? 'it names none' : `it names ${known.join(', ')}`;
  return new CommandFault(exitCodes.input, `the configuration has no ${wordsOf(place)}`, { hint });
}

function wordsOf(place: UpstreamPlace): string {
  return 'cluster' in place ? `cluster ${place.cluster}` : `virtual cluster ${place.project}/${place.virtualCluster}`;
}

const orSayIt = { hint: 'give the user of the kubeconfig with --user NAME' };

async function whoAmI(context: Context, settings: ManagementSettings, place: UpstreamPlace): Promise<string> {
  const kubeconfig = kubeconfigOf(settings, place);
  if (kubeconfig === undefined)
    throw new CommandFault(exitCodes.input, `the configuration has no kubeconfig of ${wordsOf(place)}`, {
      hint: 'write the kubeconfig into the entry of the configuration, or give its user with --user NAME',
    });
  const { environment, clock, version } = context;
  const opened = await openCredentials({ kubeconfig, environment });
  if (opened.kind === 'faults') throw clusterFault(opened.faults);
  const { credentials } = opened;
  const connection = openConnection({ name: 'upstream', credentials, clock, log: silentLog, version });
  try {
    return await askedUser(context, connection);
  } finally {
    await connection.close();
  }
}

async function askedUser(context: Context, connection: Connection): Promise<string> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const answer = await connection.request({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: JSON.stringify(review),
    contentType: 'application/json',
  });
  const status = expectOk(answer, 'ask the cluster for the user of the kubeconfig')['status'];
  const { username, groups } = (status as { userInfo?: { username?: string; groups?: string[] } }).userInfo ?? {};
  if (username === undefined || username === '')
    throw new CommandFault(exitCodes.environment, 'the cluster does not name the user of the kubeconfig', orSayIt);
  if (groups?.includes('system:masters') === true)
    context.stderr.write(
      `${username} may do everything there already; give Hostward a kubeconfig of a user that has these rights alone\n`,
    );
  return username;
}

function kubeconfigOf({ clusters, projects }: ManagementSettings, place: UpstreamPlace): string | undefined {
  if ('cluster' in place) return clusters.find(({ name }) => name === place.cluster)?.kubeconfig;
  const project = projects.find(({ name }) => name === place.project);
  return project?.virtualClusters.find(({ name }) => name === place.virtualCluster)?.kubeconfig;
}
