# Takes mail on a port and appends each to a file as one line of JSON.
import json
import signal
import ssl
import sys

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

port, out, manners = int(sys.argv[1]), sys.argv[2], sys.argv[3]
tls = None
if len(sys.argv) > 4:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(sys.argv[4], sys.argv[5])


class Taken:
    async def handle_DATA(self, server, session, envelope):
        mail = {"to": envelope.rcpt_tos, "text": envelope.content.decode("utf-8", "replace")}
        with open(out, "a") as file:
            file.write(json.dumps(mail) + "\n")
        if manners == "hang-up":
            # It has the mail and says nothing.
            server.transport.abort()
        return "250 OK"


def login(server, session, envelope, mechanism, data):
    return AuthResult(success=True)


controller = Controller(Taken(), hostname="127.0.0.1", port=port, authenticator=login, auth_require_tls=False, tls_context=tls, require_starttls=tls is not None)
controller.start()
print("ready", flush=True)
signal.pause()
