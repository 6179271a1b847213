import { json } from 'node:stream/consumers';
import { sendJson } from '../../support/hosts.ts';
import { serve } from '../../support/servers.ts';

/** Takes GoTrue's text messages in place of a provider: the "Send SMS" hook posts them here. */
export async function startTextMessages(port: number) {
  const codes = new Map<string, string[]>();
  const server = await serve((req, res) => {
    json(req).then(
      (message: any) => {
        const { phone, otp } = message.sms;
        codes.set(phone, [...(codes.get(phone) ?? []), otp]);
        sendJson(res, {});
      },
      () => res.destroy(),
    );
  }, port);
  return {
    /** The newest code that went to a number, which is written without `+`. */
    code: (phone: string): string | undefined => codes.get(phone)?.at(-1),
    /** How many went there. */
    sent: (phone: string): number => codes.get(phone)?.length ?? 0,
    close: () => server.close(),
  };
}
