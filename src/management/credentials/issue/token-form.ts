// Makes the kubeconfig with a token: an access key for exactly this virtual cluster, used through our proxy or the ingress that we
// serve.
import { forbiddenBecause, StatusFault } from '../../../apiserver/request/status-fault.ts';
import { tokenLife } from '../kubeconfig/life.ts';
import { instanceText, keyNamePrefix } from '../kubeconfig/names.ts';
import { type Form, type FormInput, instanceGroupResource, unacceptable } from './asked.ts';
import { type IssueParts, leftSeconds, type MadeKey } from './asker.ts';
import { ingressPlace } from './ingress-place.ts';

export async function tokenForm(parts: IssueParts, asked: FormInput): Promise<Form> {
  const { spec, asker, instance, ctx } = asked;
  const left = leftSeconds(asker, parts.clock.wallTime().getTime());
  const life = tokenLife(spec.certificateTTL, { leftSeconds: left, maxSeconds: parts.limits().maxTTL });
  if (life.errors.length > 0) throw unacceptable(asked, life.errors);
  const place = await tokenPlace(parts, asked);
  for (const warning of life.warnings) ctx.warn(warning);
  const key = await made(parts, asked, {
    metadata: { generateName: keyNamePrefix(instance) },
    spec: {
      displayName: `kubeconfig of ${instanceText(instance)}`,
      type: 'Other',
      ttl: life.seconds,
      groups: asker.facts?.groups ?? [],
      scope: { virtualClusters: [{ project: instance.project, virtualCluster: instance.name }] },
    },
  });
  const user = key === undefined ? undefined : { token: key.value };
  const expiresMs = key === undefined ? undefined : parts.clock.wallTime().getTime() + (life.seconds ?? 0) * 1000;
  return { ...place, user, expiresMs, made: `made the access key ${key?.name ?? ''}` };
}

/** The address that accepts a key or token: the ingress that we serve, or our proxy. */
async function tokenPlace(parts: IssueParts, asked: FormInput): Promise<Pick<Form, 'server' | 'authorityPem'>> {
  const { project, name, settings } = asked.instance;
  if (settings.ingress?.servedBy === 'hostward') return ingressPlace(parts, asked);
  return {
    server: `${parts.baseURL}/kubernetes/project/${project}/virtualcluster/${name}`,
    authorityPem: await parts.authority(),
  };
}

async function made(parts: IssueParts, { instance, ctx }: FormInput, object: object): Promise<MadeKey | undefined> {
  const { project, name, uid } = instance;
  const mark = { project, virtualCluster: name, instance: uid };
  try {
    return await parts.makeKey(ctx, mark, object);
  } catch (error) {
    if (!(error instanceof StatusFault) || error.code !== 403) throw error;
    // The caller did not ask for a key, so the refusal must name the kubeconfig.
    const causes = error.status.details?.causes ?? [];
    const why = causes.map(({ field, message }) => `${field}: ${message}`).join('; ');
    throw forbiddenBecause(
      instanceGroupResource,
      name,
      `its access key cannot be made: ${why === '' ? error.message : why}`,
      causes,
    );
  }
}
