export interface OrganizationsTestSession {
  /** The organizations that `POST /organization` may switch to. Default: any. */
  readonly organizations?: readonly string[];
}

interface Member extends OrganizationsTestSession {
  readonly organizationId?: string;
}

/** The session in the organization that a call asks for, if it asks; WorkOS' refusal for another's organization. */
export function switchOrganization<Session extends Member>(
  session: Session,
  { organization_id: organizationId }: Readonly<Record<string, unknown>>,
): Session | Response {
  if (typeof organizationId !== 'string' || organizationId === session.organizationId) return session;
  if (session.organizations?.includes(organizationId) === false)
    return Response.json({ code: 'organization_membership_not_found', message: 'Not a member.' }, { status: 400 });
  return { ...session, organizationId };
}
