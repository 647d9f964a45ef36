# A person's mail arrives: PORT PASSWORD FROM SUBJECT MESSAGE-ID TEXT [HEADER: VALUE ...]
import email.message
import imaplib
import sys

port, password, sender, subject, message_id, text = sys.argv[1:7]
mail = email.message.EmailMessage()
mail["From"], mail["To"], mail["Subject"], mail["Message-ID"] = sender, "me@example.org", subject, message_id
for header in sys.argv[7:]:
    name, value = header.split(":", 1)
    mail[name] = value.strip()
mail.set_content(text)
server = imaplib.IMAP4("127.0.0.1", int(port))
server.login("me", password)
print(server.append("INBOX", "", imaplib.Time2Internaldate(0), mail.as_bytes()))
